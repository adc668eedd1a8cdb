import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Io } from './io.ts'
import { UsageError } from './run.ts'

const SECRET_CHARS_MAX = 4_096

type SecretPrompt = {
  readonly what: string
  /** Advice that the error for a missing secret contains. */
  readonly remedy: string
}

/**
 * Reads a secret: a line that the terminal does not show, or the first line of a pipe. Throws UsageError if the
 * secret is empty or too long.
 */
export async function askSecret(
  question: string,
  { stdin, stderr }: Io,
  { what, remedy }: SecretPrompt,
): Promise<string> {
  if (stdin.isTTY) stderr.write(question)
  const none = () => new UsageError(`no ${what} was given: ${remedy}`)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: nowhere, terminal: stdin.isTTY === true })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => reject(none()))
      lines.once('SIGINT', () => lines.close())
    })
    const secret = answer.trim()
    if (secret === '' || secret.length > SECRET_CHARS_MAX) throw none()
    return secret
  } finally {
    lines.close()
    if (stdin.isTTY) stderr.write('\n')
  }
}
