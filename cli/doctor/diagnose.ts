import { Tallystick } from '../../sdk/client.ts'
import { parseBaseUrl } from '../../sdk/http/address.ts'
import { type ConnectionValues, findConnection } from '../connection.ts'
import { type Finding, fail, ok } from '../preflight/finding.ts'
import { checkLedger } from './check-ledger.ts'
import { checkEncryption, checkServer } from './check-server.ts'
import { messageOf } from './message-of.ts'

/** Maximum wait for a checkpoint in ms: several times the usual time. */
const CHECKPOINT_WAIT_MS = 5_000
const NODE_MIN = [20, 12] as const

/**
 * Yields findings, first about this machine and last about the ledger. Stops at a failure that later checks depend
 * on.
 */
export async function* diagnose(
  values: ConnectionValues,
  checkpointWaitMs = CHECKPOINT_WAIT_MS,
): AsyncGenerator<Finding, void, undefined> {
  yield checkNode(process.versions.node)
  const opened = await open(values).catch((error) =>
    fail('credentials', messageOf(error), 'run `tallystick init`'),
  )
  if ('check' in opened) return yield opened
  yield ok('credentials', `from ${opened.origin}`)
  yield checkEncryption(opened.baseUrl)
  const { findings, isThere } = await checkServer(opened.baseUrl)
  yield* findings
  if (isThere) yield* checkLedger(opened.client, checkpointWaitMs)
}

async function open(values: ConnectionValues) {
  const { url, apiKey, origin } = await findConnection(values)
  const client = new Tallystick({ baseUrl: url, apiKey, retries: { retriesMax: 1 } })
  return { client, baseUrl: parseBaseUrl(url), origin }
}

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])
  return isNew
    ? ok('node', version)
    : fail('node', `${version} is too old`, `install Node ${NODE_MIN.join('.')} or later`)
}
