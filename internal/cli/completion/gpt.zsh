#compdef gpt
# Completion of gpt for zsh. To use it now: source <(gpt completion zsh)
# In each shell from now on: gpt completion zsh > "${fpath[1]}/_gpt"

_gpt() {
	local gpt=${(Q)words[1]} line files
	local -a candidates
	whence -p -- $gpt >/dev/null || gpt=gpt
	for line in "${(@f)$("$gpt" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		if [[ $line == :files ]]; then
			files=1
		elif [[ $line == *$'\t' ]]; then
			candidates+=("${line%$'\t'}")
		elif [[ -n $line ]]; then
			candidates+=("${line/$'\t'/:}")
		fi
	done
	if (( $#candidates )); then
		_describe gpt candidates
	fi
	if [[ -n $files ]]; then
		compset -P '--[^=]##=' # the file of --flag=FILE
		_files
	fi
}

if [[ $funcstack[1] == _gpt ]]; then
	_gpt "$@" # the file was loaded from $fpath
else
	compdef _gpt gpt
fi
