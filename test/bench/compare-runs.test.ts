import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KINDS } from '../../bench/compare/kinds.ts'
import { Runs } from '../../bench/compare/runs.ts'

const OPTIONS = { seconds: 1, inserts: false, force: false }

test('a run on a busy machine is repeated up to three times and counted; --force does not repeat it', async (t) => {
  const cpu = { others: 2 }
  const load = { itemsPerSecond: 7, latency: { p50: 1e6, p99: 2e6 }, refusals: { count: 0 } }
  const report = JSON.stringify({ rounds: [{ phases: [{ name: 'all', cpu, load }] }], references: [] })
  const { tree, runs, log } = makeTree(
    t,
    `import { writeFileSync } from 'node:fs'
     const out = process.argv[process.argv.indexOf('--out') + 1]
     writeFileSync(out + '/report.json', ${JSON.stringify(report)})`,
  )
  const { isBusy, figures } = await runs.measure(tree, KINDS['batch']!, OPTIONS)
  assert.deepEqual([isBusy, figures[0]], [true, { row: 'all', measure: 'a second', value: 7 }])
  assert.deepEqual(runs.counts, { runs: 3, busy: 3 })
  assert.equal(log.filter((line) => line.includes('BUSY MACHINE')).length, 2)
  await runs.measure(tree, KINDS['batch']!, { ...OPTIONS, force: true })
  assert.deepEqual(runs.counts, { runs: 4, busy: 4 })
})

test('a run gets the arguments of its kind, and compares with plain inserts only if that is wanted', async (t) => {
  const { tree, runs } = makeTree(t, 'console.log(process.argv.slice(2).join(" ")); process.exit(3)')
  const argsOf = async (kind: string, options: object) => {
    const failed = await runs.measure(tree, KINDS[kind]!, { ...OPTIONS, ...options }).catch((error) => error)
    assert.match(failed.message, /ended with 3/)
    return failed.message.split('\n')[1].replace(/--out \S+/, '--out')
  }
  const batch = 'bench/bench.ts batch --producers 4 --duration 1 --out'
  assert.equal(await argsOf('batch', {}), `${batch} --no-reference`)
  assert.equal(await argsOf('batch', { inserts: true, force: true }), `${batch} --force`)
  assert.match(await argsOf('latency', { inserts: true }), /--no-reference$/)
  assert.equal(await argsOf('retention', { force: true }), 'bench/micro/retention.ts')
})

test('processes that a run leaves behind are killed', { timeout: 20_000 }, async (t) => {
  // The process inherits the output of the run. If it lived on, the output would stay open for a minute.
  const { tree, runs } = makeTree(
    t,
    `import { spawn } from 'node:child_process'
     spawn('sleep', ['60'], { stdio: 'inherit' }).unref()
     console.log('done')`,
  )
  assert.equal(await runs.run(tree, []), 'done\n')
})

/** Makes a folder whose tools/run.mjs has this source. */
function makeTree(t: TestContext, source: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-runs-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'tools'))
  writeFileSync(join(folder, 'tools', 'run.mjs'), source)
  const log: string[] = []
  return { tree: folder, runs: new Runs(folder, (line) => log.push(line)), log }
}
