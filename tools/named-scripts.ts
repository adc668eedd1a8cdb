import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
/** Exit code for wrong usage, as in shells. */
const EXIT_USAGE = 2

export type NamedScript = {
  readonly summary: string
  /**
   * Scripts that run one after the other. If a script fails, the later scripts do not run. Each script is a file with
   * fixed arguments. The user's arguments follow the fixed arguments.
   */
  readonly scripts: readonly (readonly string[])[]
  /** Names the programs that must be installed. */
  readonly needs?: string
  /** Lines of `--help`: an option (`--seed N`) or word, and its meaning. Options that are not listed are refused. */
  readonly words?: readonly (readonly [word: string, meaning: string])[]
  /** Program that gets all options that are not listed. */
  readonly passesTo?: string
}
export type NamedScripts = Readonly<Record<string, NamedScript>>

/**
 * Runs the script that the first argument names, in child processes, with the other arguments. Sets the exit code:
 * the code of the first failure, or 2 for wrong usage. `npmScript` is the name that the help shows, such as `npm run
 * drill`.
 */
export async function runNamed(
  table: NamedScripts,
  npmScript: string,
  args: readonly string[],
): Promise<void> {
  const [name, ...rest] = args
  if (name === '--help' || name === '-h') return console.log(listOf(table, npmScript))
  // hasOwn is necessary, because `constructor` and other inherited names are not scripts.
  const script = name !== undefined && Object.hasOwn(table, name) ? table[name]! : null
  if (script === null) {
    const fault = name === undefined ? 'name a script' : `there is no ${name}`
    return refuse(`${npmScript}: ${fault}\n\n${listOf(table, npmScript)}`)
  }
  const help = helpOf(script, `${npmScript} -- ${name}`)
  if (rest.includes('--help') || rest.includes('-h')) return console.log(help)
  const unknown = rest.find((arg) => arg.startsWith('-') && !isKnown(script, arg))
  if (unknown !== undefined)
    return refuse(`${npmScript} -- ${name}: there is no option ${unknown}\n\n${help}`)
  for (const [file, ...before] of script.scripts) {
    const code = await runNode([file!, ...before, ...rest])
    if (code === 0) continue
    process.exitCode = code
    return
  }
}

/** Returns `--name` of `--name VALUE`, or null if the line is about an argument without a name. */
export function optionOf(word: string): string | null {
  return /^--[a-z0-9-]+/.exec(word)?.[0] ?? null
}

function isKnown({ words = [], passesTo }: NamedScript, arg: string): boolean {
  return passesTo !== undefined || words.some(([word]) => optionOf(word) === arg.replace(/=.*/s, ''))
}

function refuse(text: string): void {
  console.error(text)
  process.exitCode = EXIT_USAGE
}

function listOf(table: NamedScripts, npmScript: string): string {
  const lines = Object.entries(table).map(([name, { summary }]): [string, string] => [name, summary])
  return `usage: ${npmScript} -- NAME [ARGUMENTS…]\n\n${columns(lines)}\n\n  NAME --help shows its arguments, and what it needs`
}

function helpOf({ summary, needs, words = [], passesTo }: NamedScript, usage: string): string {
  const lines = [
    ...words,
    ...(passesTo === undefined ? [] : [['…', `any option of ${passesTo}`] as const]),
    ...(needs === undefined ? [] : [['needs', needs] as const]),
  ]
  const head = `usage: ${usage}${lines.length > (needs === undefined ? 0 : 1) ? ' [ARGUMENTS…]' : ''}\n\n  ${summary}`
  return lines.length === 0 ? head : `${head}\n\n${columns(lines)}`
}

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length))
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}

/** Runs a script and returns its exit code. Signals are passed on to the child process, which decides when it ends. */
function runNode(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
  const stops = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
  for (const signal of stops) process.on(signal, passOn)
  return new Promise((done, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      for (const stop of stops) process.off(stop, passOn)
      done(code ?? 128 + constants.signals[signal!])
    })
  })
}
