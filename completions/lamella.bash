# Completion for bash. Commands and options are asked from the program itself, so they are never out of date.
_lamella_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'
}

_lamella_options() {
    "$1" "$2" --help 2>/dev/null | sed -n '/^Options:/,/^$/s/^ *\(-[a-z-]*\(, --[a-z-]*\)\{0,1\}\).*/\1/p' | tr -s ', ' '\n'
}

_lamella() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_lamella_commands "$program") --help --version" -- "$word")
        return
    fi
    # Behind "--" stands the command to record, with completions of its own.
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ] && declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
            return
        fi
    done
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_lamella_options "$program" "$command")" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
complete -o filenames -F _lamella lamella
