# Completion of heapwire for bash: heapwire itself knows its words.
_heapwire()
{
    mapfile -t COMPREPLY < <(compgen -W \
        "$("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" \
        -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _heapwire heapwire
