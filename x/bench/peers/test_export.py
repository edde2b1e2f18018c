"""What export.py quantizes, read by gguf. The peers check the files as a whole: run lets each
generate our own tokens first."""

import unittest

import numpy as np

from export import Kind, ggml, gguf, quantize

# A block whose widest value is negative, and whose steps hit no multiple of a scale; and zeros.
RAMP = np.stack([np.arange(32, dtype="f4") * np.float32(0.37) - 8, np.zeros(32, "f4")])


class Blocks(unittest.TestCase):
    def test_in_8_bits(self):
        made = ggml(RAMP, Kind.Q8_0)
        self.assertEqual(made.shape, (2, 34))
        self.assertLess(abs(gguf.dequantize(made, Kind.Q8_0) - RAMP).max(), 0.55 * 8 / 127 + 8 / 2048)

    def test_in_4_bits(self):
        made = ggml(RAMP, Kind.Q4_0)
        self.assertEqual(made.shape, (2, 18))
        self.assertEqual(made[0, :2].view("<f2"), 1)  # -8 is the widest: -8/-8
        self.assertLessEqual(abs(gguf.dequantize(made, Kind.Q4_0) - RAMP).max(), 0.5)
        self.assertEqual(made[1, 2:].tolist(), [0x88] * 16)

    def test_scales_give_the_values(self):
        for bits, step in (8, 0.5 * 8 / 127), (4, 0.5):
            scales, q = quantize(RAMP, bits)
            self.assertLessEqual(abs(scales[..., None] * q - RAMP[:, None]).max(), step * 1.001)


if __name__ == "__main__":
    unittest.main()
