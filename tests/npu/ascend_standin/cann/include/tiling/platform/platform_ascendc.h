// Stand-in: the chip that a tiling function asks about.
#pragma once
#include <cstdint>

namespace fe {
struct PlatFormInfos {};
}  // namespace fe

namespace platform_ascendc {
enum class CoreMemType { UB, L1, L0_A, L0_B, L0_C };

class PlatformAscendC {
 public:
  explicit PlatformAscendC(fe::PlatFormInfos*) {}
  uint32_t GetCoreNumAiv() const { return 40; }
  uint32_t GetCoreNumAic() const { return 20; }
  uint32_t GetCoreNum() const { return 20; }
  void GetCoreMemSize(CoreMemType kind, uint64_t& bytes) const {
    constexpr uint64_t KIBIBYTES[] = {192, 512, 64, 64, 128};
    bytes = KIBIBYTES[static_cast<int>(kind)] << 10;
  }
  uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
};
}  // namespace platform_ascendc
