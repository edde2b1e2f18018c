package chat

// A browser's build reads templates in Jinja alone: text/template would keep every method of every type
// in it.

type lineTemplate struct{}

func parseBounded(string) (*lineTemplate, error) {
	return nil, &Error{"found a template in the syntax of text/template, want one in Jinja"}
}

func (c *Template) execute(Line) (string, error) { return "", &Error{"want a template in Jinja"} }
