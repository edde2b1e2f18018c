// The median of some numbers: of two in the middle, their mean.
export function median(x) {
  const s = [...x].sort((a, b) => a - b);
  return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2;
}
