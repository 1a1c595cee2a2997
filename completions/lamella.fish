# Completion for fish. Commands and options are asked from the program itself, so they are never out of date.
function __lamella_commands
    lamella --help 2>/dev/null | string match -rg '^  ([a-z]+)  +(.*)' | paste -d \t - -
end
function __lamella_options
    set -l words (commandline -opc)
    lamella $words[2] --help 2>/dev/null | string match -rg -- '^ +(?:-[a-z], )?(--[a-z][a-z-]*)'
end
complete -c lamella -n __fish_use_subcommand -f -a '(__lamella_commands)'
complete -c lamella -n 'not __fish_use_subcommand' -a '(__lamella_options)'
