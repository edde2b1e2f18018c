package pickle

// What a pickle may name and what it may call: names of data alone. A name is judged where it is
// read and a call where it is made, so that it does not matter what becomes of the value.

import (
	"slices"
	"strings"
	"unicode"
)

// mayName reports whether a pickle may name a class or a function: of Python's own library what
// makes data, of other programs all but what their modules have imported (os.system of torch.hub).
func mayName(c *Class) bool {
	if isPythons(c.Module) {
		return makesData(c) || isJudged(c) || c.Module == "typing" && isCapital(c.Name)
	}
	outer, _, dotted := strings.Cut(c.Name, ".")
	return !dotted || isCapital(outer)
}

// mayCall reports whether a call makes data. Of programs that are not known here, calls are those
// of enums and of own kinds of dicts and lists: classes, with arguments that are no text.
func mayCall(c *Class, args Tuple) bool {
	if !isJudged(c) {
		return makesData(c) || isCapital(c.Name) && areWords(args, 3)
	}
	var classes [2]*Class // among the arguments
	for i := range min(len(args), len(classes)) {
		classes[i], _ = args[i].(*Class)
	}
	switch c.Name {
	case "getattr": // a member of an enum, or a method, which nothing can call
		name, ok := "", false
		if len(args) == 2 {
			name, ok = args[1].(string)
			_, made := args[0].(*Object)
			ok = ok && (made || classes[0] != nil && isCapital(classes[0].Name))
		}
		return ok && name != "" && !strings.HasPrefix(name, "__") && areWords(args[1:], 0)
	case "type": // of None
		return len(args) == 1 && args[0] == nil
	case "getitem": // Optional[int]
		return classes[0] != nil && classes[0].Module == "typing"
	}
	return classes[1] != nil && isPythons(classes[1].Module) && makesData(classes[1])
}

// isJudged reports whether a function of Python's makes data with some arguments only.
func isJudged(c *Class) bool {
	switch c.Module {
	case "builtins", "__builtin__":
		return c.Name == "getattr" || c.Name == "type"
	case "operator", "_operator":
		return c.Name == "getitem"
	case "copyreg", "copy_reg":
		return c.Name == "_reconstructor"
	}
	return false
}

// makesData reports whether a call makes data whatever its arguments are.
func makesData(c *Class) bool {
	is := func(names ...string) bool { return slices.Contains(names, c.Name) }
	switch c.Module {
	case "builtins", "__builtin__":
		return is("set", "frozenset", "bytes", "bytearray", "complex", "int", "long", "float", "str",
			"unicode", "bool", "list", "dict", "tuple", "object", "range", "xrange", "slice",
			"Ellipsis", "NotImplemented")
	case "collections":
		return is("OrderedDict", "defaultdict", "Counter", "deque", "ChainMap", "UserDict", "UserList")
	case "datetime":
		return is("date", "datetime", "time", "timedelta", "timezone")
	case "pathlib", "pathlib._local":
		return strings.HasSuffix(c.Name, "Path") && !strings.Contains(c.Name, ".")
	case "_io", "io":
		return is("BytesIO", "StringIO")
	case "argparse":
		return is("Namespace")
	case "types":
		return is("SimpleNamespace", "GenericAlias", "NoneType")
	case "decimal", "fractions", "uuid", "random", "zoneinfo":
		return is("Decimal", "Fraction", "UUID", "SafeUUID", "Random")
	case "math":
		return !strings.Contains(c.Name, ".")
	case "functools":
		return is("partial")
	case "logging":
		return is("Logger", "getLogger")
	case "re":
		return is("_compile", "RegexFlag")
	case "_regex":
		return is("compile")
	case "_codecs":
		return is("encode")
	case "array":
		return is("array", "_array_reconstructor")
	case "torch":
		return is("device")
	case "torch._C":
		return is("Generator")
	case "torch._utils":
		return strings.HasPrefix(c.Name, "_rebuild_")
	case "torch.serialization":
		return is("_get_layout")
	case "numpy":
		return is("dtype")
	case "numpy.random._pickle":
		return strings.HasSuffix(c.Name, "_ctor")
	}
	for _, beginning := range []string{"__pyx_unpickle_", "_unpickle_", "_new_"} {
		if strings.HasPrefix(c.Name, beginning) {
			return strings.HasPrefix(c.Module, "numpy.") || strings.HasPrefix(c.Module, "pandas.")
		}
	}
	return strings.HasPrefix(c.Module, "numpy.") &&
		is("_reconstruct", "_frombuffer", "_mareconstruct", "scalar") ||
		strings.HasPrefix(c.Module, "pandas.") && is("_timedelta_unpickle", "BlockManager")
}

// isCapital reports whether a name is written as a class's, such as Mode, a.Mode or _Mode.
func isCapital(name string) bool {
	name = strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "_")
	return name != "" && unicode.IsUpper(rune(name[0]))
}

// areWords reports whether values are numbers, words, names, and lists of these that are so deep at
// most: no command, path, address or program.
func areWords(all []any, depth int) bool {
	return depth >= 0 && !slices.ContainsFunc(all, func(v any) bool {
		switch v := v.(type) {
		case nil, bool, int64, float64, *Class:
			return false
		case string:
			return len(v) > 64 || strings.ContainsFunc(v, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-+.", r)
			})
		case Tuple:
			return !areWords(v, depth-1)
		case *List:
			return !areWords(v.Items, depth-1)
		}
		return true
	})
}

// isPythons reports whether a module is of Python's own library, of any version: its name is one of
// these, or begins with an underscore and is no program's.
func isPythons(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	switch top {
	case "BaseHTTPServer", "Bastion", "CGIHTTPServer", "ConfigParser", "Cookie", "DocXMLRPCServer",
		"FileDialog", "HTMLParser", "Queue", "ScrolledText", "SimpleDialog", "SimpleHTTPServer",
		"SimpleXMLRPCServer", "SocketServer", "StringIO", "Tix", "Tkconstants", "Tkdnd", "Tkinter",
		"abc", "aifc", "annotationlib", "antigravity", "anydbm", "argparse", "array", "ast",
		"asynchat", "asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii",
		"binhex", "bisect", "builtins", "bz2", "cPickle", "cProfile", "cStringIO", "calendar",
		"cgi", "cgitb", "chunk", "cmath", "cmd", "code", "codecs", "codeop", "collections",
		"colorsys", "commands", "compileall", "compression", "concurrent", "configparser",
		"contextlib", "contextvars", "cookielib", "copy", "copy_reg", "copyreg", "crypt", "csv",
		"ctypes", "curses", "dataclasses", "datetime", "dbhash", "dbm", "decimal", "difflib", "dis",
		"distutils", "doctest", "dumbdbm", "dummy_thread", "dummy_threading", "email", "encodings",
		"ensurepip", "enum", "errno", "faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch",
		"formatter", "fractions", "ftplib", "functools", "gc", "gdbm", "genericpath", "getopt",
		"getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html",
		"htmlentitydefs", "http", "httplib", "idlelib", "ihooks", "imaplib", "imghdr", "imp",
		"importlib", "imputil", "inspect", "io", "ipaddress", "itertools", "json", "keyword",
		"lib2to3", "linecache", "locale", "logging", "lzma", "macpath", "mailbox", "mailcap",
		"markupbase", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt",
		"multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers",
		"opcode", "operator", "optparse", "os", "os2", "ossaudiodev", "parser", "pathlib", "pdb",
		"pickle", "pickletools", "pipes", "pkgutil", "platform", "plistlib", "popen2", "poplib",
		"posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile", "pyclbr",
		"pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib",
		"resource", "rexec", "rlcompleter", "robotparser", "runpy", "sched", "secrets", "select",
		"selectors", "shelve", "shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr",
		"socket", "socketserver", "spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse",
		"ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sunau",
		"symbol", "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib",
		"tempfile", "termios", "textwrap", "this", "thread", "threading", "time", "timeit",
		"tkColorChooser", "tkCommonDialog", "tkFileDialog", "tkFont", "tkMessageBox",
		"tkSimpleDialog", "tkinter", "token", "tokenize", "tomllib", "trace", "traceback",
		"tracemalloc", "ttk", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata",
		"unittest", "urllib", "urllib2", "urlparse", "uu", "uuid", "venv", "warnings", "wave",
		"weakref", "webbrowser", "whichdb", "winreg", "winsound", "wsgiref", "xdrlib", "xml",
		"xmlrpc", "xmlrpclib", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo":
		return true
	}
	return strings.HasPrefix(top, "_") && top != "__main__" && top != "__mp_main__"
}
