import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { VARIABLES, warnOfUnknown } from '../src/variables.ts'
import { PROJECT_DIR } from './system/deployment/installation.ts'

test('the list has each variable that a program, a client or a template names', () => {
  const files = globSync(
    ['{src,cli,sdk,adapters}/**/*.ts', 'python/src/**/*.py', 'deploy/**/*', 'helm/**/*.{tpl,yaml}'],
    { cwd: PROJECT_DIR, exclude: ['**/node_modules/**', '**/dist/**'] },
  ).filter((file) => /\.\w+$/.test(file))
  const named = files.flatMap(
    (file) =>
      readFileSync(join(PROJECT_DIR, file), 'utf8').match(/\bTALLYSTICK_[A-Z0-9_]*[A-Z0-9]\b(?!_)/g) ?? [],
  )
  assert.ok(named.length > VARIABLES.length)
  assert.deepEqual(
    [...new Set(named)].filter((name) => !VARIABLES.includes(name)),
    [],
  )
})

test('warns of each unknown variable, with the most similar known name', () => {
  const env = {
    TALLYSTICK_PROT: '1',
    TALLYSTICK_MASTERKEY_FILE: '2',
    TALLYSTICK_X: '',
    TALLYSTICK_SPOOL: '3',
    PORT: '4',
  }
  assert.deepEqual(warnOfUnknown(env), [
    'tallystick: no program reads the variable TALLYSTICK_MASTERKEY_FILE: did you mean TALLYSTICK_MASTER_KEY_FILE?',
    'tallystick: no program reads the variable TALLYSTICK_PROT: did you mean TALLYSTICK_PORT?',
    'tallystick: no program reads the variable TALLYSTICK_X (docs/operate/settings.md)',
  ])
})
