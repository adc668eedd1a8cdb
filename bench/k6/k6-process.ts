import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readRecording } from './series.ts'
import type { K6Result } from './types.ts'

const SCRIPTS_DIR = resolve(import.meta.dirname, '..', '..', 'k6')
/** Exit code of k6 when thresholds were crossed. The run itself is complete. */
const THRESHOLDS_CROSSED = 99
const ERROR_LINES_MAX = 20

type K6Plan = {
  readonly k6: string
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  readonly everySeconds: number
  readonly secondsMax: number
  /** Folder for a copy of k6's output, or null to delete the output. */
  readonly keepDir: string | null
  readonly onStart: (pid: number) => void
}

/** Runs a script once. Throws if k6 leaves no result, because `setup` threw or the script does not parse. */
export async function runK6(plan: K6Plan): Promise<K6Result> {
  const dir = plan.keepDir ?? mkdtempSync(join(tmpdir(), 'tallystick-k6-'))
  const summaryPath = join(dir, `${plan.script}-summary.json`)
  const recordingPath = join(dir, `${plan.script}-recording.ndjson`)
  rmSync(summaryPath, { force: true })
  try {
    const { code, stderr } = await execute(plan, {
      SUMMARY: summaryPath,
      K6_WEB_DASHBOARD: 'true',
      K6_WEB_DASHBOARD_PORT: '-1',
      K6_WEB_DASHBOARD_PERIOD: `${plan.everySeconds}s`,
      K6_WEB_DASHBOARD_RECORD: recordingPath,
      K6_WEB_DASHBOARD_TAGS: 'scenario',
    })
    const warnings = stderr.trim().split('\n').filter(Boolean).slice(-ERROR_LINES_MAX)
    if (code !== 0 && code !== THRESHOLDS_CROSSED)
      throw new Error(`k6 ended with ${code} in ${plan.script}:\n${warnings.join('\n')}`)
    return {
      summary: JSON.parse(readFileSync(summaryPath, 'utf8')),
      points: readRecording(readFileSync(recordingPath, 'utf8')),
      warnings,
    }
  } finally {
    if (plan.keepDir === null) rmSync(dir, { recursive: true, force: true })
  }
}

function execute(
  { k6, script, env, secondsMax, onStart }: K6Plan,
  files: Record<string, string>,
): Promise<{ code: number | string; stderr: string }> {
  const child = spawn(k6, ['run', '--quiet', '--no-color', '--no-usage-report', `${script}.js`], {
    cwd: SCRIPTS_DIR,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env, ...files },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    kill()
  }, secondsMax * 1000)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((done, reject) => {
    child.once('error', reject)
    child.once('spawn', () => onStart(child.pid!))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      process.off('exit', kill)
      const why = isLate ? `${signal}, because it took longer than ${secondsMax} s` : signal
      done({ code: code ?? why ?? 1, stderr })
    })
  })
}
