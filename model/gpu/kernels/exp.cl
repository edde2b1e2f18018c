// Exponential, tanh, erf and the activations: kernels/exp.go, line by line.

#define INFINITE FLOAT(0x7f800000u)

FUNCTION float exp_(float x) {
	float t = fma(x, 1.4426950408889634f, 12582912.0f);
	float n = t - 12582912.0f;
	float r = fma(n, -1.4286068203094172e-06f, fma(n, -0.693145751953125f, x));
	float q = fma(0.0001991823321705067f, r, 0.0013946381452955253f);
	q = fma(q, r, 0.008333264699626348f);
	q = fma(q, r, 0.04166626559626765f);
	q = fma(q, r, 0.16666666858829668f);
	q = fma(q, r, 0.5000000079222027f);
	float p = fma(q, r * r, r) + 1.0f;
	float y = FLOAT(BITS(p) + (BITS(t) << 23)); // p·2ⁿ
	y = x > 88.72283f ? INFINITE : y;
	y = x < -87.33654f ? 0.0f : y;
	return x != x ? x : y;
}

FUNCTION float abs_(float x) { return FLOAT(BITS(x) & 0x7fffffffu); }

FUNCTION float copysign_(float x, float sign) {
	return FLOAT((BITS(x) & 0x7fffffffu) | (BITS(sign) & 0x80000000u));
}

FUNCTION float tanh_(float x) {
	float a = abs_(x), z = x * x;
	float q = fma(-0.005543112518668546f, z, 0.02049663547597885f);
	q = fma(q, z, -0.05369713480710372f);
	q = fma(q, z, 0.13330950244124412f);
	q = fma(q, z, -0.33333264739676693f);
	float small = fma(q * z, x, x);
	float large = copysign_(1.0f - 2.0f / (exp_(a + a) + 1.0f), x);
	return a < 0.625f ? small : large;
}

FUNCTION float erf_(float x) {
	float a = abs_(x), z = x * x;
	float q = fma(7.889119432622343e-05f, z, -0.0008020841252645647f);
	q = fma(q, z, 0.005189535336587975f);
	q = fma(q, z, -0.02685444459063731f);
	q = fma(q, z, 0.1128360017623133f);
	q = fma(q, z, -0.3761262713596391f);
	q = fma(q, z, 1.1283791659137459f);
	float small = q * x;
	float c = a > 4.0f ? 4.0f : a;
	float p = fma(-0.00018882361226516307f, c, 0.0029724420146445742f);
	p = fma(p, c, -0.02194043062434497f);
	p = fma(p, c, 0.10332734916973557f);
	p = fma(p, c, 0.6378830848565932f);
	p = fma(p, c, 1.1272514564343061f);
	p = fma(p, c, 0.00030042836545832174f);
	float large = copysign_(1.0f - exp_(-p), x);
	return a < 1.0f ? small : large;
}

// times_sigmoid returns x·σ(t), as one division.
FUNCTION float times_sigmoid(float x, float t) { return x / (1.0f + exp_(-t)); }

// activation numbers are kernels.Activation's.
FUNCTION float activation(float x, int a) {
	switch (a) {
	case 0: { // GELU by tanh
		float u = (0.7978845608028654f * x) * fma(x * x, 0.044715f, 1.0f);
		return times_sigmoid(x, u + u);
	}
	case 1: { // GELU by erf
		float h = 0.5f * x;
		return fma(h, erf_(x * 0.7071067811865476f), h);
	}
	case 2: return times_sigmoid(x, 1.702f * x); // quick GELU
	case 3: return times_sigmoid(x, x);          // SiLU
	case 4: return x < 0.0f ? 0.0f : x;          // ReLU
	case 6: return x < 0.0f ? 0.0f : x * x;      // squared ReLU
	case 7: {                                    // Mish
		float e = exp_(x), n = fma(e, e, e + e);
		return x / (1.0f + 2.0f / n);
	}
	default: return tanh_(x);
	}
}
