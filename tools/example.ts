/*
 * npm run example -- NAME [ARGUMENTS]
 *
 * Runs examples/NAME/main.ts with the SDK built from this tree. Examples import `@tallystick/sdk` by name, so that
 * they can be copied.
 */
import { existsSync, globSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { buildSdk } from './build-sdk.ts'

const EXAMPLES = resolve(import.meta.dirname, '..', 'examples')

const [name = '', ...rest] = process.argv.slice(2)
const file = join(EXAMPLES, name, 'main.ts')
if (/^[a-z-]+$/.test(name) && existsSync(file)) {
  await buildSdk()
  process.argv = [process.argv[0]!, file, ...rest]
  await import(file)
} else {
  const names = globSync('*/main.ts', { cwd: EXAMPLES }).map((path) => basename(dirname(path)))
  console.error(`npm run example -- NAME, with one of: ${names.sort().join(', ')}`)
  process.exitCode = 64
}
