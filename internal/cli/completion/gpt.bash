# Completion of gpt for bash. To use it now: source <(gpt completion bash)
# In each shell from now on: that line in ~/.bashrc

_gpt() {
	local gpt=${COMP_WORDS[0]} line files=
	type -P "$gpt" >/dev/null || gpt=gpt
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			files=1
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("$gpt" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	# "-o default" below completes the names of files where COMPREPLY is empty.
	if [[ -z $files ]]; then
		compopt +o default 2>/dev/null
	fi
}

complete -o default -F _gpt gpt
