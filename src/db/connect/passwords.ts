import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { PASSWORD_BYTES_MAX, PASSWORD_COMMAND_EVERY_MS, PASSWORD_COMMAND_MS_MAX } from '../limits.ts'

/** Source of a password that is not in the URL. It contains only plain values, so that it can be passed to a thread. */
export type PasswordSource =
  | { readonly file: string }
  | {
      readonly command: readonly [program: string, ...argv: string[]]
      readonly cacheMs: number
      readonly env: Readonly<Record<string, string>>
    }

/** Target of a connection. A password command gets these values as environment variables. */
export type Login = {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export type Passwords = {
  /**
   * Returns the password for one new connection. The message of an error says what to do, and contains none of the text
   * that was read.
   */
  get(): Promise<string>
  /**
   * Called when the database refused the password. After that, `get` MUST NOT return the refused password from memory.
   */
  refused(): void
}

export function openPasswords(
  source: PasswordSource,
  login: Login,
  commandMsMax = PASSWORD_COMMAND_MS_MAX,
): Passwords {
  return 'file' in source ? new PasswordFile(source.file) : new PasswordCommand(source, login, commandMsMax)
}

/** Reads the password file once. Used for a password that this process is about to set. */
export function readPasswordFile(file: string): string {
  try {
    return parsePassword(readFileSync(file, 'utf8'), `the password file ${file}`)
  } catch (error) {
    throw explainUnreadable(error as Error)
  }
}

function explainUnreadable(error: NodeJS.ErrnoException): Error {
  if (error.syscall === undefined) return error
  return new Error(`the password file cannot be read: ${error.message}`)
}

/** Reads the file for each connection. To rotate the password, write the file. No restart is needed. */
class PasswordFile implements Passwords {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  async get(): Promise<string> {
    try {
      return parsePassword(await readFile(this.#file, 'utf8'), `the password file ${this.#file}`)
    } catch (error) {
      throw explainUnreadable(error as Error)
    }
  }

  refused(): void {}
}

/**
 * Runs a command for the password, and uses its output for `cacheMs`.
 *
 * Concurrent connections wait for the same run. After half of `cacheMs`, the next run begins while the present password
 * is still returned, so that no connection waits.
 *
 * The command runs without a shell. An image may have no shell, and a password in a shell command may be quoted wrong.
 * The command's error text is not repeated, because it may contain the secret.
 */
class PasswordCommand implements Passwords {
  readonly #source: Extract<PasswordSource, { command: unknown }>
  readonly #login: Login
  readonly #msMax: number
  #running: Promise<string> | null = null
  #cached: { readonly password: string; readonly sinceMs: number } | null = null

  constructor(source: Extract<PasswordSource, { command: unknown }>, login: Login, msMax: number) {
    this.#source = source
    this.#login = login
    this.#msMax = msMax
  }

  async get(): Promise<string> {
    const { cacheMs } = this.#source
    const ageMs = this.#cached ? performance.now() - this.#cached.sinceMs : Number.POSITIVE_INFINITY
    if (ageMs < cacheMs / 2) return this.#cached!.password
    const running = this.#begin()
    if (ageMs >= cacheMs) return running
    // If this run fails, its error is ignored. If the failure continues, the next run after `cacheMs` reports it.
    running.catch(() => {})
    return this.#cached!.password
  }

  #begin(): Promise<string> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /**
   * Forgets the cached password unless it is very recent. Otherwise the command would run again and again while the
   * database refuses every password.
   */
  refused(): void {
    if (this.#cached && performance.now() - this.#cached.sinceMs >= PASSWORD_COMMAND_EVERY_MS)
      this.#cached = null
  }

  async #run(): Promise<string> {
    const beganAtMs = performance.now()
    const [program, ...argv] = this.#source.command
    const output = await new Promise<string>((resolve, reject) => {
      const options = {
        env: { ...this.#source.env, ...variablesOf(this.#login) },
        timeout: this.#msMax,
        killSignal: 'SIGKILL',
        maxBuffer: PASSWORD_BYTES_MAX,
      } as const
      execFile(program, argv, options, (error, stdout) => {
        if (error) reject(new Error(`the password command ${program} ${explainRun(error)}`))
        else resolve(stdout)
      })
    })
    const password = parsePassword(output, `the output of the password command ${program}`)
    this.#cached = { password, sinceMs: beganAtMs }
    return password
  }
}

/** Returns the environment variables of the command. They have libpq's names, which scripts that call psql know. */
function variablesOf({ host, port, user, database }: Login): Record<string, string> {
  return { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database }
}

type RunError = Error & { code?: string | number | null; killed?: boolean; signal?: string | null }

function explainRun({ code, killed, signal }: RunError): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
    return `printed more than ${PASSWORD_BYTES_MAX} bytes: it must print only the password`
  if (killed) return 'took too long and was stopped'
  if (code === 'ENOENT') return 'does not exist: name a program in PATH, or its full path'
  if (code === 'EACCES') return 'may not be executed'
  return `failed with ${signal ?? `exit code ${code}`}: run it by hand to see why`
}

/**
 * Removes one line break at the end, which an editor or echo adds. Throws if the remaining text is empty, is too long
 * or has several lines.
 */
function parsePassword(text: string, where: string): string {
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new Error(`${where} is empty`)
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX)
    throw new Error(`${where} is longer than ${PASSWORD_BYTES_MAX} bytes: it must be only the password`)
  if (/[\0\r\n]/.test(password)) throw new Error(`${where} has several lines: it must be only the password`)
  return password
}
