import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Gated, makePeers, statementOf } from '../helpers/peered-chains.ts'
import { runs } from '../helpers/runs.ts'
import type { TestLine } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'
import { assertRefused, verifyChain } from '../helpers/verify-chain.ts'

/*
 * A model of two ledgers with random actions. The home creates and shares records, takes steps, erases documents and
 * rotates keys. The guest receives entries at any later time, and offers steps based on the entries that it knows.
 * Every step that is valid on its own side must verify on both sides, in any order.
 */

type Shared = {
  readonly gated: Gated
  /** Lines that the guest has not received yet, in order. */
  readonly unheard: TestLine[]
  /** The newest line that the guest received. */
  heard: TestLine | null
  offer: TestLine | null
}

type Action = { readonly what: keyof Exchange['actions']; readonly which: number }

class Exchange {
  readonly peers = makePeers()
  readonly #records: Shared[] = []

  readonly actions = {
    create: () => this.#create(this.peers.create()),
    createOpen: () => this.#create(this.peers.create({ performer: undefined })),
    createThenShare: () => {
      const gated = makeGated(this.peers.home)
      const created = gated.last()
      this.#add(gated, [this.peers.share(gated), created])
    },
    hear: (which: number) => {
      const record = this.#pick(which)
      const line = record?.unheard.shift()
      if (!record || !line) return
      this.peers.receive(this.peers.guest, line)
      if (line.kind.startsWith('record-') || line.kind.startsWith('completion-')) record.heard = line
      const isAnswer = line.kind === 'offer-refused' || statementOf(line).predicate['offer'] !== undefined
      if (isAnswer) record.offer = null
    },
    offer: (which: number) => {
      const record = this.#pick(which)
      if (!record?.heard || record.offer) return
      const { to, version } = statementOf(record.heard).predicate
      const step = to === 'CREATED' ? 'record-activated' : to === 'ACTIVE' ? 'completion-submitted' : null
      if (!step) return
      const known = { version: (version as number) + 1, previous: record.heard.leaf }
      record.offer = this.peers.offer(record.gated, step, known)
      this.#unanswered.add(record)
    },
    answer: (which: number) => {
      const record = this.#pick(which)
      if (!record?.offer || !this.#unanswered.delete(record)) return
      record.unheard.push(this.#answer(record, record.offer))
    },
    move: (which: number) => {
      const record = this.#pick(which)
      const line = record && this.#move(record.gated, which)
      if (line) record.unheard.push(line)
    },
    erase: (which: number) => {
      const record = this.#pick(which)
      const line = this.peers.home.lines.find(
        ({ documents, envelope }) =>
          record &&
          documents[0]?.salt &&
          statementOf({ envelope }).predicate['record'] === record.gated.record,
      )
      if (record && line) record.unheard.push(this.peers.home.erase(line))
    },
    rotate: () => void this.peers.rotate(this.peers.guest, this.peers.home.rotateServerKey()),
  }

  readonly #unanswered = new Set<Shared>()

  #pick(which: number): Shared | undefined {
    return this.#records[which % Math.max(1, this.#records.length)]
  }

  #create(gated: Gated): void {
    this.#add(gated, [gated.last()])
  }

  #add(gated: Gated, unheard: TestLine[]): void {
    this.#records.push({ gated, unheard, heard: null, offer: null })
  }

  /** The home accepts an offer that fits the record's state. It refuses offers that are late or from another agent. */
  #answer({ gated }: Shared, offer: TestLine): TestLine {
    const { predicate, ledger, actor } = statementOf(offer)
    const fits = predicate['version'] === gated.version() + 1 && predicate['previous'] === gated.last().leaf
    const isPerformer = gated.performedBy() === null || gated.performedBy() === `${ledger}/${actor}`
    return fits && isPerformer ? this.peers.take(gated, offer) : this.peers.refuse(offer)
  }

  #move(gated: Gated, which: number): TestLine | null {
    switch (gated.state()) {
      case 'CREATED':
        return which % 3 === 0 ? gated.cancel() : null
      case 'SUBMITTED':
        return gated.verify(which % 2 ? 'pass' : 'fail')
      case 'VERIFIED':
        return gated.judge('accept')
      case 'DISCREPANT':
        return gated.revisions() === 0 ? gated.revise() : gated.judge('reject')
      default:
        return null
    }
  }

  get kinds(): ReadonlySet<string> {
    return new Set([...this.peers.home.lines, ...this.peers.guest.lines].map(({ kind }) => kind))
  }
}

const NAMES = Object.keys(new Exchange().actions) as Action['what'][]
const ROUND = ['hear', 'offer', 'answer', 'move'] as const
const action = fc.record<Action>({
  what: fc.constantFrom(...NAMES, ...ROUND, ...ROUND, ...ROUND, 'hear'),
  which: fc.nat(2),
})
const actions = fc.array(action, { minLength: 40, maxLength: 120, size: 'max' })

function exchange(done: readonly Action[]): Exchange {
  const made = new Exchange()
  made.actions.create()
  for (const { what, which } of done) made.actions[what](which)
  return made
}

test('any lawful exchange between two ledgers verifies on both sides', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(actions, (done) => {
      const { peers, kinds } = exchange(done)
      for (const chain of [peers.home, peers.guest]) verifyChain(chain, { own: [chain.checkpoint()] })
      for (const kind of kinds) seen.add(kind)
    }),
    { numRuns: runs(200) },
  )
  for (const kind of [
    'step-offered',
    'offer-refused',
    'peer-key-rotated',
    'record-shared',
    'completion-submitted',
  ])
    assert.ok(seen.has(kind), `${kind} never came about`)
})

test('an exchanged envelope replaced by another one is detected at any position', () => {
  fc.assert(
    fc.property(actions, fc.nat(), fc.nat(), (done, at, other) => {
      const { peers } = exchange(done)
      for (const { lines } of [peers.home, peers.guest]) {
        const received = lines.filter((line) => line.received !== undefined)
        const line = received[at % Math.max(1, received.length)]
        const put = lines[other % lines.length]!.envelope
        if (!line || line.received === put) continue
        const before = line.received!
        line.received = put
        assertRefused(/^received_mismatch$/, () =>
          verifyChain(peers.home.lines === lines ? peers.home : peers.guest),
        )
        line.received = before
      }
    }),
    { numRuns: runs(100) },
  )
})
