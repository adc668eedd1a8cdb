import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { KEY_FILE_VARIABLES } from '../variables.ts'
import { KEY_FILE_BYTES_MAX } from './limits.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Issue = { readonly path: readonly [string]; readonly message: string }

/**
 * Returns the environment with keys that were read from files. Files are safer than variables: /proc, pod descriptions
 * and dumps show a process's environment, but not mounted files. An issue names the variable and shows no content of
 * the file.
 */
export function readKeyFiles(env: Environment): {
  readonly env: Environment
  readonly issues: readonly Issue[]
} {
  const issues: Issue[] = []
  const read: Record<string, string> = {}
  for (const variable of KEY_FILE_VARIABLES) {
    const name = variable.replace(/_FILE$/, '')
    const file = env[variable]
    if (file === undefined) continue
    const tell = (message: string) => issues.push({ path: [variable], message })
    if (env[name] !== undefined) tell(`is set, and so is ${name}: remove one`)
    else {
      const found = readKeyFile(file)
      if ('fault' in found) tell(found.fault)
      else read[name] = found.text
    }
  }
  return { env: { ...env, ...read }, issues }
}

function readKeyFile(file: string): { readonly text: string } | { readonly fault: string } {
  try {
    const fd = openSync(file, 'r')
    try {
      // The mode is read from the open file, so that nobody can replace the file between check and read.
      const { mode } = fstatSync(fd)
      if ((mode & 0o007) !== 0)
        return { fault: `${file} is open to every user of this machine: chmod 440, or less` }
      const buffer = Buffer.alloc(KEY_FILE_BYTES_MAX + 1)
      return checkText(buffer.subarray(0, readSync(fd, buffer)).toString('latin1'), file)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    return { fault: `cannot be read: ${(error as Error).message}` }
  }
}

/**
 * Checks the text of a key file. One newline at the end is removed, because most tools end a file with a newline. Any
 * other space is an error.
 */
function checkText(all: string, file: string): { readonly text: string } | { readonly fault: string } {
  if (all.length > KEY_FILE_BYTES_MAX)
    return { fault: `${file} has more than ${KEY_FILE_BYTES_MAX} bytes: write only the key into it` }
  const text = all.replace(/\r?\n$/, '')
  if (text === '') return { fault: `${file} is empty` }
  if (!/^[\x21-\x7e]+$/.test(text))
    return { fault: `${file} has several lines or spaces: write only the key into it` }
  return { text }
}
