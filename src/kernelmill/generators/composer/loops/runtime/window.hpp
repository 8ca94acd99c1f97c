// The image of a convolution, padded and split by phase so that every tap is a plain offset.
#pragma once
#include <algorithm>

#include "shape.hpp"
#include "support.hpp"

namespace km {

// Output o sees, through tap t, input (o * stride + t * dilation - pad) / up where that is whole
// (up > 1: a transposed convolution).  One of stride and up is 1.
struct Axis {
  long size = 1, out = 1, kernel = 1, stride = 1, pad = 0, dilation = 1, up = 1;
  // Outputs of one phase: every up-th.
  long places() const { return ceil_div(out, up); }
  // Every stride-th sample of the image forms a phase of its own, in which the samples of
  // neighbouring outputs are neighbours.
  long phases() const { return dilation == 1 ? std::min(stride, kernel) : stride; }
  long margin() const { return floordiv(pad, up); }
  // Where tap t of output phase p finds its first sample, counted in steps of 1 / up from the
  // start of the padded image.
  long first(long p, long t) const { return p + t * dilation - modulo(pad, up); }
  bool meets(long p, long t) const { return first(p, t) % up == 0; }
  long phase(long p, long t) const { return first(p, t) / up % stride; }
  long place(long p, long t) const { return first(p, t) / up / stride; }
  long length() const { return places() + place(up - 1, kernel - 1); }
  // Positions in phase p that lie inside the input.
  Range inside(long p) const {
    long end = std::clamp(ceil_div(std::max(size + margin() - p, 0L), stride), 0L, length());
    return {std::min(ceil_div(std::max(margin() - p, 0L), stride), end), end};
  }
  long sample(long p, long place) const { return place * stride + p - margin(); }
  // Zeros behind a line that are also those before the next one.
  long shared() const {
    long count = length() - places();
    for (long p = 0; p < phases(); ++p)
      count = std::min({count, inside(p).begin, length() - inside(p).end});
    return count;
  }
};

struct Window {
  const long channels;
  const Axis z, y, x;
  const long pitch = x.length() - x.shared();
  long plane() const { return y.length() * pitch; }
  long phase() const { return z.length() * plane(); }
  long volume() const { return z.phases() * y.phases() * x.phases() * phase(); }
  long image() const { return channels * volume() + x.shared(); }
  long taps() const { return z.kernel * y.kernel * x.kernel; }
  long phases() const { return z.up * y.up * x.up; }
  Shape shape(long batch, long m) const {
    return {batch, m, channels * taps(), y.places(), x.places(), pitch, z.places(), plane()};
  }
  template <int X>
  Phases<X> outputs(const long* start) const {
    return {start, z.up, y.up, z.out, y.out, x.out};
  }
};

// The values of k = (channel, tz, ty, tx), sorted by the output phase that they belong to: where in
// the image each is found, which k it is, and where each phase starts.
class Taps {
 public:
  const Memory<long> offset, order, start;
  explicit Taps(const Window& w)
      : offset(w.channels * w.taps()), order(w.channels * w.taps()), start(w.phases() + 1) {
    long phase = 0, count = 0;
    for (long pz = 0; pz < w.z.up; ++pz)
      for (long py = 0; py < w.y.up; ++py)
        for (long px = 0; px < w.x.up; ++px) {
          start[phase++] = count;
          count = add_phase(w, pz, py, px, count);
        }
    start[phase] = count;
  }

 private:
  long add_phase(const Window& w, long pz, long py, long px, long begin) {
    long end = begin;
    for (long tz = 0; tz < w.z.kernel; ++tz)
      for (long ty = 0; ty < w.y.kernel; ++ty) {
        if (!w.z.meets(pz, tz) || !w.y.meets(py, ty)) continue;
        for (long tx = 0; tx < w.x.kernel; ++tx) {
          if (!w.x.meets(px, tx)) continue;
          long part = (w.z.phase(pz, tz) * w.y.phases() + w.y.phase(py, ty)) * w.x.phases() + w.x.phase(px, tx);
          long line = w.z.place(pz, tz) * w.y.length() + w.y.place(py, ty);
          order[end] = (tz * w.y.kernel + ty) * w.x.kernel + tx;
          offset[end++] = part * w.phase() + line * w.pitch + w.x.place(px, tx);
        }
      }
    const long taps = end - begin;  // of one channel: the others look the same
    for (; end < begin + w.channels * taps; ++end) {
      order[end] = order[end - taps] + w.taps();
      offset[end] = offset[end - taps] + w.volume();
    }
    return end;
  }
};

template <class Element>
inline void pad_line(const Window& w, long phase, Range valid, Element element, float* to) {
  for (long j = 0; j < valid.begin; ++j) to[j] = 0.0f;
  KM_SIMD
  for (long j = valid.begin; j < valid.end; ++j) to[j] = element(w.x.sample(phase, j));
  for (long j = valid.end; j < w.pitch; ++j) to[j] = 0.0f;
}

// Copies one channel of one image, padded and split by phase, and the zeros that would be shared
// with the next; element(z, y, x) is only asked for samples inside the input.
template <class Element>
void pad_channel(const Window& w, Element element, float* to) {
  const Range none{w.pitch, w.pitch};
  for (long pz = 0; pz < w.z.phases(); ++pz)
    for (long py = 0; py < w.y.phases(); ++py)
      for (long px = 0; px < w.x.phases(); ++px) {
        const Range planes = w.z.inside(pz), rows = w.y.inside(py), cols = w.x.inside(px);
        for (long i = 0; i < w.z.length(); ++i)
          for (long j = 0; j < w.y.length(); ++j, to += w.pitch) {
            const bool inside = i >= planes.begin && i < planes.end && j >= rows.begin && j < rows.end;
            const long z = w.z.sample(pz, i), y = w.y.sample(py, j);
            pad_line(w, px, inside ? cols : none, [&](long x) { return element(z, y, x); }, to);
          }
      }
  std::fill_n(to, w.x.shared(), 0.0f);
}

// One image, for Split::batch in base(b); element(channel, z, y, x).
template <class Element>
void pad_copy(const Window& w, Element element, float* image) {
  for (long channel = 0; channel < w.channels; ++channel) {
    auto of_channel = [&](long z, long y, long x) { return element(channel, z, y, x); };
    pad_channel(w, of_channel, image + channel * w.volume());
  }
}

}  // namespace km
