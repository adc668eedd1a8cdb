import { setTimeout as sleep } from 'node:timers/promises'
import { Tallystick } from '../../sdk/client.ts'
import type { LedgerSummary } from '../../sdk/generated/api.ts'
import { bytesOf } from '../../sdk/http/answers.ts'
import type { CallOptions } from '../../sdk/http/transport.ts'
import { TallystickOperator } from '../../sdk/operator.ts'
import { parseCheckpoint } from '../proof/tree/checkpoint.ts'
import { formatReport } from '../verify/report.ts'
import { spooledExport } from '../verify/spool.ts'
import { verifyLedger } from '../verify/verify-ledger.ts'
import { readConfig, required } from './config.ts'
import { connectDirectly } from './connect-directly.ts'
import { SMOKE_CHECKPOINT_MS_MAX, SMOKE_MS_MAX, SMOKE_POLL_MS, SMOKE_REVOKE_MS_MAX } from './limits.ts'
import { runsToEnd } from './run-to-end.ts'

const LEDGER = 'helm-test'
const KEY = 'smoke'

const ADVICE = {
  server:
    'check that servers run (see their log), and that TALLYSTICK_URL, or else TALLYSTICK_PUBLIC_URL, reaches them from here',
  operator: 'check that TALLYSTICK_OPERATOR_KEY is the key that the servers have',
  record: "see the servers' log, and docs/operate/settings.md#when-something-is-wrong",
  checkpoint:
    'check that a worker runs, and see its log: docs/runbooks/verification.md#a-ledger-gets-no-checkpoints',
  ledger: 'docs/runbooks/integrity.md#a-ledger-does-not-verify',
  key: `revoke the keys named ${KEY}: nobody has their secrets any more`,
} as const

type Print = (line: string) => void
type Target = { readonly url: string; readonly operatorKey: string; readonly checkpointMs?: number }

/**
 * Tests a deployment from outside after an installation or a change. The test notarizes a record, waits for a worker's
 * checkpoint that covers the record, and verifies the whole ledger.
 *
 * The test uses a ledger of its own, which the first run creates. The key that the test makes is always revoked.
 * Returns the last line of output. Throws StepFailed after the failure was printed.
 */
export async function smoke(
  { url, operatorKey, checkpointMs = SMOKE_CHECKPOINT_MS_MAX }: Target,
  say: Print,
): Promise<string> {
  const step = makeStep(say)
  const operator = new TallystickOperator({ baseUrl: url, operatorKey })
  const call = { signal: AbortSignal.timeout(SMOKE_MS_MAX) }
  const ready = async () => {
    await operator.health.ready(call)
    return operator.health.live(call)
  }
  await step('the server is ready', ADVICE.server, ready, ({ version }) => `${version} at ${url}`)
  const { id } = await step(
    `the ledger ${LEDGER} is there`,
    ADVICE.operator,
    () => ensureLedger(operator, call),
    idOf,
  )
  const issueKey = () => operator.ledgers.issueKey(id, { name: KEY }, call)
  const key = await step('a key is made', ADVICE.operator, issueKey, idOf)
  const client = new Tallystick({ baseUrl: url, apiKey: key.key })
  try {
    return await notarizeAndVerify(client, { url, checkpointMs, call, step })
  } finally {
    await step('the key is revoked', ADVICE.key, () =>
      client.keys.revoke(key.id, {}, { signal: AbortSignal.timeout(SMOKE_REVOKE_MS_MAX) }),
    )
  }
}

async function notarizeAndVerify(
  client: Tallystick,
  { url, checkpointMs, call, step }: { url: string; checkpointMs: number; call: CallOptions; step: Step },
): Promise<string> {
  const { entry } = await step('a record is notarized', ADVICE.record, () =>
    client.records.notarize({ payload: { smoke: new Date().toISOString() } }, call),
  )
  const checkpoint = await step(`a checkpoint covers entry ${entry.seq}`, ADVICE.checkpoint, () =>
    waitForCheckpoint(client, { seq: entry.seq, checkpointMs, call }),
  )
  return step('the ledger verifies', ADVICE.ledger, async () => {
    const source = spooledExport(url, async () => bytesOf(await client.exports.stream(call)))
    const report = await verifyLedger(source, { checkpoints: [checkpoint] })
    if (!report.ok) throw new Error(formatReport(report))
    return formatReport(report)
  })
}

const idOf = ({ id }: { readonly id: string }) => id

/**
 * Returns the test's ledger. Creates the ledger if it is missing or frozen. A ledger that is closed as an older backup
 * is used, so that the failure is reported.
 */
async function ensureLedger(
  operator: TallystickOperator,
  call: CallOptions,
): Promise<Pick<LedgerSummary, 'id'>> {
  for await (const ledger of operator.ledgers.list({}, call))
    if (ledger.name === LEDGER && ledger.closed !== 'frozen') return ledger
  return (await operator.ledgers.create({ name: LEDGER }, call)).ledger
}

async function waitForCheckpoint(
  client: Tallystick,
  { seq, checkpointMs, call }: { seq: number; checkpointMs: number; call: CallOptions },
): Promise<string> {
  const beganAtMs = performance.now()
  for (;;) {
    const note = await client.checkpoints.latest({}, call)
    if (note !== null && parseCheckpoint(note).checkpoint.size > seq) return note
    if (performance.now() - beganAtMs > checkpointMs) throw new Error(`none within ${checkpointMs / 1_000} s`)
    await sleep(SMOKE_POLL_MS, undefined, call)
  }
}

/** Error of a failed step. The step's name, the reason and advice were already printed. */
export class StepFailed extends Error {}

type Step = <T>(
  name: string,
  look: string,
  run: () => Promise<T>,
  describe?: (result: T) => string,
) => Promise<T>

/** Returns a function that runs a step and prints its result: one line for a success, two lines for a failure. */
function makeStep(say: Print): Step {
  return async (name, advice, run, describe) => {
    const beganAtMs = performance.now()
    const took = () => `${Math.round(performance.now() - beganAtMs)} ms`
    try {
      const result = await run()
      say(`ok    ${name}, ${took()}${describe ? `: ${describe(result)}` : ''}`)
      return result
    } catch (error) {
      say(`FAIL  ${name}, ${took()}: ${(error as Error).message}\n      → ${advice}`)
      throw new StepFailed(name, { cause: error })
    }
  }
}

/** Command `smoke`: prints INTEGRITY_OK and exits with 0, or exits with 1. */
export const main = runsToEnd(
  {
    name: 'smoke',
    help: '  It takes no arguments: TALLYSTICK_URL and TALLYSTICK_OPERATOR_KEY name the server and the operator (docs/operate/image.md)',
  },
  async () => {
    connectDirectly()
    const config = readConfig()
    const operatorKey = required(
      config.operatorKey,
      'TALLYSTICK_OPERATOR_KEY',
      'it creates the ledger and the API key for the test',
    )
    const target = { url: config.serverUrl ?? config.publicUrl, operatorKey }
    try {
      console.log(await smoke(target, console.log))
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error
      return 1
    }
    return 0
  },
)
