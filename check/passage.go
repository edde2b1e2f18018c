package check

// passage is the text that is compared if no other is given: contractions, numbers, white space,
// symbols and several scripts, so that tokenizers have something to disagree about.
const passage = `In 1843, Ada Lovelace wrote down how an engine that was never built could compute
the numbers of Bernoulli. She didn't have one to try it on; it's said that she'd have liked to.
"We may say most aptly," she noted, "that the Analytical Engine weaves algebraical patterns just
as the Jacquard loom weaves flowers and leaves."   A hundred years later there were 3 of them, then
10, and today 1,000,000,000: every telephone is one.

	for i := 0; i < 64; i++ { sum += weights[i] * x[i] } // 2.5e-7 off, so what?

Ein Maßstab für Größe: naïve café, Ørsted, Łódź. Привет, мир! 你好,世界。こんにちは。 안녕하세요. שלום, مرحبا.
Prices rose 12½ % to €99.99 (≈ $108), they've said; I'll wait, you're right, we'd better not. 👩‍🔬🚀 END
`
