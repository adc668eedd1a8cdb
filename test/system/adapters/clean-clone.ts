import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../../../tools/bundle.ts'

const run = promisify(execFile)

/**
 * Copies this folder's tracked files in their current state, without build results. The copy links to the packages that
 * are installed here, except that `@tallystick/sdk` links to the copy's own SDK.
 */
export async function makeCleanClone(folder: string): Promise<void> {
  mkdirSync(folder)
  const copy = `git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$1"`
  await run('bash', ['-c', `set -o pipefail; ${copy}`, 'bash', folder], { cwd: ROOT })
  linkPackages(ROOT, folder)
  mkdirSync(join(folder, 'node_modules', '@tallystick'))
  symlinkSync(join(folder, 'sdk'), join(folder, 'node_modules', '@tallystick', 'sdk'))
  linkPackages(join(ROOT, 'adapters'), join(folder, 'adapters'))
}

function linkPackages(from: string, to: string): void {
  mkdirSync(join(to, 'node_modules'))
  for (const name of readdirSync(join(from, 'node_modules')))
    if (name !== '@tallystick') symlinkSync(join(from, 'node_modules', name), join(to, 'node_modules', name))
}
