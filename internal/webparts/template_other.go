//go:build !js

package webparts

// What html/template is given, which a browser's build does not link.

import (
	"html/template"
	"strings"
)

// CSS returns the style of a page that is one file: the colours, what such pages share, and more.
func CSS(more string) template.CSS { return template.CSS(palette + style + sheet + more) }

// JS returns the script of a page that is one file: the shared parts, and more.
func JS(more string) template.JS {
	return template.JS("\"use strict\";\n" + strings.ReplaceAll(script, "\nexport ", "\n") + more)
}
