import { onlyArgument, parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { COMMANDS } from '../commands.ts'
import { EXIT } from '../exit-codes.ts'
import { bashCompletion, type CommandWords, fishCompletion, zshCompletion } from '../shell-completion.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }
const NAMES = Object.keys(SHELLS) as (keyof typeof SHELLS)[]

const HELP = `tallystick completion ${NAMES.join('|')}

Prints what completes commands and options in that shell; files are completed as ever.

  -h, --help

Examples:
  tallystick completion bash > ~/.local/share/bash-completion/completions/tallystick
  tallystick completion zsh > "\${fpath[1]}/_tallystick"
  tallystick completion fish > ~/.config/fish/completions/tallystick.fish
`

export const completion = defineCommand({
  help: HELP,
  options: {},
  async run(_values, positionals, io) {
    const shell = onlyArgument(positionals, `completion ${NAMES.join('|')}`)
    io.stdout.write(SHELLS[parseChoice(shell, NAMES, 'the shell')](await allWords()))
    return EXIT.ok
  },
})

async function allWords(): Promise<CommandWords[]> {
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const { options } = await load()
      return {
        name,
        summary,
        options: Object.keys(options).map((option) => `--${option}`),
      }
    }),
  )
}
