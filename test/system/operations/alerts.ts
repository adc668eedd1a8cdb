/*
 * npm run drill -- alerts
 *
 * Checks the rules, and each expression of the dashboard, with promtool. Every alert must fire in its case, with its
 * text, and must not fire in a healthy installation. Each case is repeated with series that come and go
 * (real-life.ts); a table shows the results. promtool is built once (tools/go-tool.ts).
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installGoTool } from '../../../tools/go-tool.ts'
import { CASES } from './alert-cases.ts'
import { ALERTS_FILE, readRules } from './alerts-file.ts'
import { listExpressions } from './dashboard-file.ts'
import { panelTests } from './panel-tests.ts'
import { table } from './real-life-table.ts'
import { ruleTests, type TestFile } from './rule-tests.ts'

const promtool = await installGoTool('promtool', console.log)
const dir = mkdtempSync(join(tmpdir(), 'tallystick-alerts-'))
try {
  run('the rules', ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE])
  const expressions = listExpressions().map((expr, index) => ({ record: `panel:expression:${index}`, expr }))
  const file = write('dashboard.json', { groups: [{ name: 'dashboard', rules: expressions }] })
  run(`the ${expressions.length} expressions of the dashboard`, ['check', 'rules', '--lint=none', file])
  run('all of them find something, of a server and a worker that have every metric', [
    'test',
    'rules',
    write('panels.json', panelTests(file)),
  ])
  const files = ruleTests(readRules())
  const results = join(dir, 'results.xml')
  const paths = files.map(writeTests)
  run(`${CASES.length} cases of ${files.length - 1} alerts, and each in real life`, [
    'test',
    'rules',
    `--junit=${results}`,
    ...paths,
  ])
  console.log(table(readFileSync(results, 'utf8')))
} finally {
  rmSync(dir, { recursive: true })
}

function run(what: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${what}`)
  if (status === 0) return
  console.log(`${stdout}${stderr}`.trim())
  process.exitCode = 1
}

function writeTests({ name, interval, rules, tests }: TestFile): string {
  const file = write(`${name}-rules.json`, { groups: [{ name, rules }] })
  return write(`${name}.json`, { rule_files: [file], evaluation_interval: interval, tests })
}

/** Writes JSON, because JSON is also YAML. */
function write(name: string, content: unknown): string {
  const path = join(dir, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}
