import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROJECT_DIR } from './product-process.ts'

const ONE_WAY = 'test/system/deployment/'
/**
 * Folders whose programs must start deployments with ProductProcess. `test/http` and similar folders start parts of a
 * server on purpose.
 */
const FOLDERS = ['test/system', 'test/helpers', 'bench', 'tools']

const STARTS = [
  /\bspawn\([^)]*src\/run\/(server|worker|all-in-one|command\.ts'\)?, '(server|worker)')/s,
  /\b(start|spawn|launch|run)\w*\(\s*'src\/run\/(server|worker|all-in-one)\.ts'/,
  /^import\b[^;]*?\bstart(Server|Worker)\b[^']*'[^']*src\/run\/(server|worker)\.ts'/m,
]

test('tests, drills and benchmarks start deployments only by the shared helper', (t) => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(PROJECT_DIR, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  )
  const starting = files.filter((file) => {
    const text = readFileSync(join(PROJECT_DIR, file), 'utf8')
    return STARTS.some((start) => start.test(text))
  })
  const others = starting.filter((file) => !file.startsWith(ONE_WAY))
  t.diagnostic(`ways to start a deployment: ${1 + others.length}, of ${files.length} files`)
  assert.deepEqual(others, [], `start it by ${ONE_WAY}`)
  assert.ok(starting.includes(`${ONE_WAY}part.ts`))
})
