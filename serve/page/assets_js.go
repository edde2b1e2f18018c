package page

import "embed"

// assets is empty in a browser: its page comes from the host of the files.
var assets embed.FS
