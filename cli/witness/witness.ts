import { RateLimits } from '../../src/ledgers/rate-limits.ts'
import { ownText } from '../../src/proof/bytes.ts'
import type { ProofProviders } from '../../src/proof/crypto.ts'
import {
  isFork,
  type Judgement,
  judgeCheckpoint,
  type KnownLog,
} from '../../src/proof/tree/add-checkpoint.ts'
import { cosign } from '../../src/proof/tree/cosignature.ts'
import { signatureLine, signaturesOf } from '../../src/proof/tree/note.ts'
import {
  WITNESS_COSIGN_AGAIN_MS,
  WITNESS_REQUESTS_PER_LOG_BURST,
  WITNESS_REQUESTS_PER_LOG_PER_SECOND,
  WITNESS_WAITING_PER_LOG_MAX,
} from './limits.ts'
import { START_ANEW, type WitnessState } from './state.ts'

/** Answer of a witness. `isSize`: the body is the size of a tree (status 409) and not a text. */
export type WitnessAnswer = { readonly status: number; readonly body: string; readonly isSize?: boolean }

export const TOO_MANY: WitnessAnswer = { status: 429, body: 'too many requests: try again in a second\n' }

/**
 * Limit of requests with a checkpoint that the log has signed and that extends its tree. Other clients cannot use up
 * this limit, because requests that only name the log, or repeat its old checkpoints, do not count.
 */
const PER_LOG = {
  requestsPerSecond: WITNESS_REQUESTS_PER_LOG_PER_SECOND,
  burst: WITNESS_REQUESTS_PER_LOG_BURST,
}

type WitnessDeps = {
  readonly state: WitnessState
  readonly logs: ReadonlyMap<string, KnownLog>
  readonly providers: ProofProviders
  readonly now: () => number
  /** Called when a log has signed something that it should not have signed. */
  readonly warn: (message: string) => void
}

/**
 * Implements C2SP tlog-witness with a folder as its state. It makes one decision at a time for each log, and sends a
 * decision only when the decision is on disk.
 */
export class Witness {
  readonly #deps: WitnessDeps
  readonly #limits = new RateLimits(() => performance.now())
  /**
   * Maps a log's origin to its queue. `last` settles when the newest request has ended. `length` is the number of open
   * requests.
   */
  readonly #queues = new Map<string, { last: Promise<unknown>; length: number }>()

  /** Maps a log's origin to its newest cosignature. */
  readonly #last = new Map<string, { text: string; atMs: number; line: string }>()

  constructor(deps: WitnessDeps) {
    this.#deps = deps
  }

  /** Returns the origin in a body. Returns null if no known log has this origin. */
  findOrigin(body: string): string | null {
    const begin = body.indexOf('\n\n') + 2
    const origin = body.slice(begin, body.indexOf('\n', begin))
    return this.#deps.logs.has(origin) ? origin : null
  }

  async addCheckpoint(body: string): Promise<WitnessAnswer> {
    const origin = this.findOrigin(body)
    if (origin === null) return this.#decide(body)
    const queue = this.#queues.get(origin) ?? { last: Promise.resolve(), length: 0 }
    if (queue.length >= WITNESS_WAITING_PER_LOG_MAX)
      return { status: 503, body: 'too many requests of this log are waiting: try again\n' }
    this.#queues.set(origin, queue)
    queue.length++
    const answer = queue.last.then(() => this.#decide(body))
    queue.last = answer.catch(() => {})
    try {
      return await answer
    } finally {
      queue.length--
      if (queue.length === 0) this.#queues.delete(origin)
    }
  }

  async #decide(body: string): Promise<WitnessAnswer> {
    const { state, logs, providers, warn } = this.#deps
    const judgement = judgeCheckpoint(
      body,
      (origin) => logs.get(origin) ?? null,
      (origin) => state.findCosignedTree(origin),
      providers,
    )
    if (await state.isRolledBack(judgement.signed)) {
      const reason = `the stored state is older than the last checkpoint that this key cosigned of ${judgement.signed!.tree.origin}. ${START_ANEW}`
      warn(reason)
      return { status: 500, body: `${reason}\n` }
    }
    return judgement.refusal === null ? this.#cosign(judgement) : this.#refuse(judgement)
  }

  async #cosign({ signed: { note, tree } }: Judgement & { refusal: null }): Promise<WitnessAnswer> {
    const { state, logs, providers, now } = this.#deps
    // Uses the stored copy of the origin. A part of the request's text would keep the whole text in memory.
    const { origin, keys } = logs.get(tree.origin)!
    const isNew = state.findCosignedTree(origin)?.size !== tree.size
    if (isNew && !this.#limits.charge([{ name: 'log', id: origin, limit: PER_LOG }]).allowed) return TOO_MANY
    const last = this.#last.get(origin)
    const nowMs = now()
    if (last?.text === note.text && Math.abs(nowMs - last.atMs) < WITNESS_COSIGN_AGAIN_MS)
      return { status: 200, body: last.line }
    const text = ownText(note.text)
    const seconds = Math.floor(nowMs / 1_000)
    const line = cosign(text, seconds, state.key.name, state.signer, providers.sha256)
    // Only a new tree is stored. A repeated tree is on disk already, and anybody can send the newest checkpoint again.
    if (isNew) {
      // Only lines of the log's own keys are stored, because lines of other keys could come from anybody.
      const own = keys
        .flatMap((key) => signaturesOf(note.signatures, key))
        .map(({ name, keyId, signature }) => signatureLine(name, keyId, signature))
      await state.storeCosigned({ ...tree, origin }, `${text}\n${own.join('')}${line}`)
    }
    this.#last.set(origin, { text, atMs: nowMs, line })
    return { status: 200, body: line }
  }

  async #refuse({ refusal, signed }: Judgement & { refusal: object }): Promise<WitnessAnswer> {
    const { state, warn } = this.#deps
    if (signed !== null && isFork(state.findCosignedTree(signed.tree.origin), signed.tree)) {
      const { origin, size } = signed.tree
      warn(`${origin} has signed two trees of ${size} entries: both notes are stored in the folder`)
      const lines = signed.note.signatures.map((each) => signatureLine(each.name, each.keyId, each.signature))
      await state.storeFork(signed.tree, `${signed.note.text}\n${lines.join('')}`)
    }
    if (refusal.status === 409) return { status: 409, body: `${refusal.size}\n`, isSize: true }
    if (refusal.status === 422) warn(`${signed!.tree.origin} was not cosigned: ${refusal.reason}`)
    return { status: refusal.status, body: `${refusal.reason}\n` }
  }
}
