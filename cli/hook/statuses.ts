import { valueAt } from '../calls/message.ts'

/*
 * Derived status of an action, from the events of its host (docs/reference/outcomes.md). The status is `ok` only if the
 * host reports the end, and the answer shows no failure, no interruption and no work that continues.
 */

type Status = {
  readonly status: 'ok' | 'error' | 'denied' | 'unknown'
  readonly errorType?: string
}

type Event = { readonly get: (...names: string[]) => unknown }

const OK: Status = { status: 'ok' }
const unknown = (errorType: string): Status => ({ status: 'unknown', errorType })

/** Members that Claude Code sets if a tool continues after its answer: a background command, or a launched agent. */
const GOES_ON = ['backgroundTaskId', 'isAsync']
const CUT_OFF = ['interrupted', 'is_interrupt', 'timedOut', 'timed_out', 'cancelled', 'canceled', 'aborted']
const EXIT_CODES = ['exitCode', 'exit_code', 'returncode']
const FAILED = ['isError', 'is_error', 'error']

/** Returns the status of a tool call by its answer. `tool`: name of the tool. Cursor writes the answer as JSON text. */
export function statusOfResponse(written: unknown, tool: string): Status {
  const response = typeof written === 'string' ? (parseObject(written) ?? written) : written
  const has = (names: readonly string[]) => hasAny(response, names)
  const ofGemini = statusOfGemini(response, tool)
  if (ofGemini !== null) return ofGemini
  if (has(CUT_OFF)) return unknown('interrupted')
  const codes = EXIT_CODES.map((name) => valueAt(response, [name]))
  const exitCode = codes.find(
    (code) => typeof code === 'number' || (typeof code === 'string' && DIGITS.test(code)),
  )
  const isBadExit = exitCode !== undefined && Number(exitCode) !== 0
  if (has(FAILED) || valueAt(response, ['success']) === false || isBadExit)
    return { status: 'error', errorType: isBadExit ? `exit:${exitCode}` : 'isError' }
  return has(GOES_ON) ? unknown('background') : OK
}

/**
 * Returns the status of a Gemini CLI tool call. Its answers have no status member. The exit code of a shell command
 * is only in the text for the model, and a subagent's answer has a reason for its end. Returns null if the answer is
 * from another tool, or has an `error`.
 */
function statusOfGemini(response: unknown, tool: string): Status | null {
  const text = valueAt(response, ['llmContent'])
  if (text === undefined || hasAny(response, FAILED)) return null
  const display = valueAt(response, ['returnDisplay'])
  if (valueAt(display, ['isSubagentProgress']) === true) return statusOfSubagent(display)
  return tool === 'run_shell_command' ? statusOfShell(text, display) : null
}

function statusOfSubagent(display: unknown): Status {
  const reason = valueAt(display, ['terminateReason'])
  if (reason === 'GOAL') return OK
  if (valueAt(display, ['state']) === 'error' || (typeof reason === 'string' && reason.startsWith('ERROR')))
    return { status: 'error' }
  return unknown(typeof reason === 'string' && reason.length <= 64 ? reason.toLowerCase() : 'aborted')
}

/**
 * Lines that Gemini CLI adds after the output of an ended command. Releases of 2025 write `(none)` where later ones
 * omit the line.
 */
const SHELL_END =
  /(?:\nExit Code: (-?\d+|\(none\)))?(?:\nSignal: (\w+|\(none\)))?(?:\nBackground PIDs: ([\d, ]+|\(none\)))?\nProcess Group PGID: \d+\s*(?:<\/untrusted_context>\s*)?$/
const NOTHING = [undefined, '(none)', '0']

/**
 * Returns the status of a shell command by its text. If the command was cancelled, timed out, or continues in the
 * background, the text lacks the lines of SHELL_END.
 */
function statusOfShell(text: unknown, display: unknown): Status {
  const [, form] = /^(?:<untrusted_context>\n)?(Output|Command): /.exec(`${text}`) ?? []
  const end = SHELL_END.exec(`${text}`)
  if (form === undefined || end === null) return unknown('no_end')
  const [code, signal, background] = end.slice(1).map((each) => (NOTHING.includes(each) ? undefined : each))
  if (background !== undefined) return unknown('background')
  if (code === undefined && signal === undefined) return OK
  // A text that begins with `Output:` has no line for exit code 0. Such a line may therefore be output of the command
  // itself. The display contains only the output. If the display has such a line too, the end is unclear.
  if (form === 'Output' && /Exit Code: |Signal: /.test(textOf(display))) return unknown('unclear_end')
  return { status: 'error', errorType: code === undefined ? `signal:${signal}` : `exit:${code}` }
}

/** Returns the text of a Gemini CLI display, which is a text or a list of lines. A line is a list of pieces. */
function textOf(display: unknown): string {
  if (!Array.isArray(display)) return typeof display === 'string' ? display : ''
  return display
    .map((line) => (Array.isArray(line) ? line.map((each) => valueAt(each, ['text'])).join('') : ''))
    .join('\n')
}

/** Returns the status of a tool call by its failure event. */
export function statusOfFailure({ get }: Event): Status {
  if (isSet(get('is_interrupt'))) return unknown('interrupted')
  switch (get('failure_type')) {
    case 'permission_denied':
      return { status: 'denied', errorType: 'permission_denied' }
    case 'timeout':
      return unknown('timeout')
    default:
      return { status: 'error' }
  }
}

const DIGITS = /^-?\d{1,10}$/

const ENDS: Readonly<Record<string, Status>> = {
  error: { status: 'error' },
  failed: { status: 'error' },
  failure: { status: 'error' },
  aborted: unknown('aborted'),
  cancelled: unknown('aborted'),
  canceled: unknown('aborted'),
  interrupted: unknown('aborted'),
  timeout: unknown('timeout'),
  window_close: unknown('window_close'),
  user_close: unknown('user_close'),
}

const WELL = new Set(['completed', 'complete', 'success', 'succeeded', 'ok', 'done', 'finished'])

/**
 * Returns the status of an ended session or subagent. Claude Code sends a reason but no status. None of its reasons
 * means a failure. A status that is neither in ENDS nor in WELL gives `unknown`.
 */
export function statusOfEnd({ get }: Event): Status {
  const statuses = [get('final_status'), get('status')].filter((each) => each !== undefined && each !== null)
  const words = [...statuses, get('reason')].map((each) => `${each}`.toLowerCase())
  const known = words.map((each) => (Object.hasOwn(ENDS, each) ? ENDS[each] : undefined)).find(Boolean)
  if (known !== undefined) return known
  return words.slice(0, -1).every((each) => WELL.has(each)) ? OK : unknown('status')
}

/** Returns whether an answer has one of the members with a value that is not empty or false. */
function hasAny(response: unknown, names: readonly string[]): boolean {
  return names.some((name) => isSet(valueAt(response, [name])))
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}
