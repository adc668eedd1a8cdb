import { listUncosigned } from '../../db/chain/cosignatures.ts'
import type { Connector } from '../../outside/connector/connector.ts'
import { OutboundError } from '../../outside/connector/error.ts'
import { utf8Decode } from '../../proof/bytes.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { keyThumbprint } from '../../proof/keys.ts'
import { nativeProviders } from '../../signing/native.ts'
import { WITNESS_ANSWER_BYTES_MAX, WITNESS_POSTS_MAX } from '../limits.ts'
import { type CosignerAnswer, type SendDeps, sendCheckpoint, WitnessError } from './send-checkpoint.ts'
import type { WitnessSetting } from './settings.ts'
import type { WitnessTarget } from './witness-sender.ts'

type PostDeps = {
  readonly connector: Connector
  readonly userAgent: string
  readonly stopping: AbortSignal
}

/**
 * Makes the target for a witness listed in TALLYSTICK_WITNESSES. Such a witness gets the checkpoints of every ledger.
 */
export function namedWitness(deps: SendDeps & PostDeps, witness: WitnessSetting): WitnessTarget {
  const { key } = witness
  const kid = keyThumbprint(nativeProviders.sha256, key.key)
  const of = (ledgerId: Uuid) => ({ ledgerId, peerId: null })
  return {
    name: key.name,
    pausesAsOne: true,
    postsMax: WITNESS_POSTS_MAX,
    expand: async (ledgers) => ledgers.map(of),
    sweep: async (ageMs, limit) => (await listUncosigned(deps.pool, kid, ageMs, limit)).map(of),
    send({ ledgerId }) {
      const cosigner = { key, peerId: null, send: (body: string) => post(deps, witness, body) }
      return sendCheckpoint(deps, cosigner, ledgerId)
    },
  }
}

async function post(
  { connector, userAgent, stopping }: PostDeps,
  { url }: WitnessSetting,
  body: string,
): Promise<CosignerAnswer> {
  try {
    const answer = await connector.post({
      url: `${url}/add-checkpoint`,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'user-agent': userAgent },
      body,
      signal: stopping,
      answerBytesMax: WITNESS_ANSWER_BYTES_MAX,
    })
    if (answer.status >= 500 || answer.status === 429)
      throw new WitnessError('unreachable', `it answered ${answer.status}`, answer.retryAfterMs)
    if (answer.ended === 'cut' || answer.ended === 'slow')
      throw new WitnessError('unreachable', `its answer ${answer.status} was cut off`)
    // The body is null if the answer was too long. The text is empty in that case.
    return { status: answer.status, text: utf8Decode(answer.body ?? new Uint8Array()) }
  } catch (error) {
    if (error instanceof OutboundError) throw new WitnessError('unreachable', error.message)
    if (error instanceof ProofError) throw new WitnessError('invalid', error.detail)
    throw error
  }
}
