# Completion of gpt for fish. To use it now: gpt completion fish | source
# In each shell from now on: gpt completion fish > ~/.config/fish/completions/gpt.fish

function __gpt_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l gpt $words[1]
    command -q -- $gpt; or set gpt gpt
    for line in (command $gpt completion fish -- $words[2..-1] "$current" 2>/dev/null)
        if test "$line" = :files
            set -l flag (string match -r -- '^--[^=]*=' "$current") # of --flag=FILE
            for path in (__fish_complete_path (string replace -- "$flag" '' "$current"))
                echo "$flag$path"
            end
        else
            echo $line
        end
    end
end

complete -c gpt -f -a '(__gpt_complete)'
