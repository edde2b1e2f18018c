package decode

// The order of the tokens of texts that run together.

// mostAhead bounds how many tokens of a text wait for those of slower ones.
const mostAhead = 1024

// turns yields the tokens of texts in turn: the n-th of each text that has so many, and then the
// next of any. How many tokens an Eval gives to a text follows from guesses, and how many are
// guessed from measured times; their order must not. An error has its place as a token has.
type turns struct {
	waiting [][]turn // by text: taken, and not yielded yet
	ended   []bool   // by text: no more are taken
	next    int      // the text whose turn it is
}

type turn struct {
	Token
	err error
}

func newTurns(texts int) *turns {
	return &turns{waiting: make([][]turn, texts), ended: make([]bool, texts)}
}

// add takes a token of the i-th text, or its error.
func (q *turns) add(i int, t Token, err error) {
	q.waiting[i] = append(q.waiting[i], turn{t, err})
}

// end says that no more tokens of the i-th text come, and yields as pass does.
func (q *turns) end(i int, yield func(Token, error) bool) bool {
	q.ended[i] = true
	return q.pass(yield)
}

// room returns how many more tokens of the i-th text may wait.
func (q *turns) room(i int) int { return max(0, mostAhead-len(q.waiting[i])) }

// pass yields the tokens whose turn it is. It returns false after an error, or if the caller wants
// no more.
func (q *turns) pass(yield func(Token, error) bool) bool {
	for passed := 0; passed < len(q.waiting); {
		i := q.next
		list := q.waiting[i]
		if len(list) == 0 && !q.ended[i] {
			return true
		}
		q.next = (i + 1) % len(q.waiting)
		if passed++; len(list) == 0 {
			continue
		}
		t := list[0]
		if q.waiting[i] = list[1:]; len(list) == 1 {
			q.waiting[i] = list[:0]
		}
		if !yield(t.Token, t.err) || t.err != nil {
			return false
		}
		passed = 0
	}
	return true
}
