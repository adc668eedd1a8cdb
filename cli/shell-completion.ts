import { shellQuote } from './shell-quote.ts'

/** What can follow `tallystick` on a command line. */
export type CommandWords = {
  readonly name: string
  readonly summary: string
  readonly options: readonly string[]
}

/** First words, and the second words of those that need one. */
function wordsOf(commands: readonly CommandWords[]): { first: string[]; second: Map<string, string[]> } {
  const second = new Map<string, string[]>()
  for (const { name } of commands) {
    const [first, rest] = name.split(' ') as [string, string | undefined]
    second.set(first, [...(second.get(first) ?? []), ...(rest === undefined ? [] : [rest])])
  }
  return { first: [...second.keys(), 'help'], second }
}

export function bashCompletion(commands: readonly CommandWords[]): string {
  const { first, second } = wordsOf(commands)
  const groups = [...second].filter(([, words]) => words.length > 0)
  return `# tallystick, in bash
_tallystick() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${shellQuote(first.join(' '))}
  elif [[ "$word" == -* ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${commands.map(({ name, options }) => `      ${patternOf(name)}) words=${shellQuote(options.join(' '))} ;;`).join('\n')}
    esac
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${groups.map(([name, words]) => `      ${name}) words=${shellQuote(words.join(' '))} ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _tallystick tallystick
`
}

/** \`verify\` is followed by anything, \`keys list\` is two words. */
function patternOf(name: string): string {
  return name.includes(' ') ? `'${name}'` : `'${name} '*`
}

export function zshCompletion(commands: readonly CommandWords[]): string {
  return `#compdef tallystick
autoload -Uz bashcompinit && bashcompinit
${bashCompletion(commands)}`
}

export function fishCompletion(commands: readonly CommandWords[]): string {
  const { second } = wordsOf(commands)
  const lines = commands.flatMap(({ name, summary, options }) => {
    const [first, rest] = name.split(' ') as [string, string | undefined]
    const begun =
      rest === undefined
        ? `__fish_seen_subcommand_from ${first}`
        : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${rest}`
    const others = second.get(first)!.join(' ')
    const offered =
      rest === undefined
        ? `complete -c tallystick -n __fish_use_subcommand -a ${first} -d ${shellQuote(summary)}`
        : `complete -c tallystick -n '__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${others}' -a ${rest} -d ${shellQuote(summary)}`
    return [offered, ...options.map((option) => `complete -c tallystick -n '${begun}' -l ${option.slice(2)}`)]
  })
  const groups = [...second].filter(([, words]) => words.length > 0).map(([first]) => first)
  const firsts = groups.map((first) => `complete -c tallystick -n __fish_use_subcommand -a ${first}`)
  return `# tallystick, in fish\n${[...firsts, ...lines].join('\n')}\n`
}
