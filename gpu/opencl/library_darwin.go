package opencl

var libraryNames = [...]string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
