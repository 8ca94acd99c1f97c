// The columns of a contraction: where each stands in the result.
#pragma once
#include <algorithm>

namespace km {

struct Range {
  long begin, end;
};
inline long ceil_div(long a, long b) { return (a + b - 1) / b; }

struct Shape {
  long batch, m, k, rows, cols, pitch;
  long planes = 1, plane = 1L << 40;  // rows: of one plane; plane: columns from one to the next
  long plane_columns() const { return (rows - 1) * pitch + cols; }
  long columns() const { return (planes - 1) * plane + plane_columns(); }
  long plane_of(long n) const { return planes == 1 ? 0 : n / plane; }
  double multiplies() const { return double(batch) * m * k * planes * rows * cols; }
};

// Every column stands for one output.
struct OnePhase {
  static constexpr bool several = false;
  static constexpr long count() { return 1; }
};

// Every column stands for z * y * X outputs (a transposed convolution): phase (pz, py, px) of a
// column at (plane, row, c) is output (plane * z + pz, row * y + py, c * X + px), with k values of
// its own: from start[phase] to start[phase + 1].
template <int X_>
struct Phases {
  static constexpr bool several = true;
  static constexpr int X = X_;
  const long* start;
  long z, y;
  long planes, rows, cols;  // of the output
  long count() const { return z * y * X; }
};

// Cuts the flat columns [n, n + count) into runs within one row: f(lane, r, c, length).
template <class F>
inline void each_run(const Shape& s, long n, long count, F f) {
  const long plane = s.plane_of(n);
  n -= plane * s.plane;
  long r = s.rows == 1 ? 0 : n / s.pitch, c = n - r * s.pitch;
  r += plane * s.rows;
  for (long lane = 0; lane < count; ++r, c = 0) {
    long length = std::min(s.cols - c, count - lane);
    if (length > 0) f(lane, r, c, length);
    lane += s.pitch - c;
  }
}

}  // namespace km
