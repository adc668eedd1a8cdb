import { fromBase64, toBase64 } from '../../src/proof/bytes.ts'
import { parseEnvelope } from '../../src/proof/envelope/cose.ts'
import { ENTRY_KINDS, type EntryKind, type Subject } from '../../src/proof/statement/kinds.ts'
import { type ParsedStatement, parseStatement } from '../../src/proof/statement/statement.ts'
import {
  digestOf,
  makeChain,
  makeId,
  type makeSigner,
  saltDocument,
  type TestChain,
  type TestLine,
} from './test-chain.ts'
import { makeGated } from './test-gated.ts'

/*
 * Two in-memory ledgers that share records. `home` invited `guest`. Both sign everything that a test appends. So a test
 * may change what one ledger states about the other.
 */

export type PeeredChains = ReturnType<typeof makePeers>
export type Gated = ReturnType<typeof makeGated>

export function statementOf(line: Pick<TestLine, 'envelope'>): ParsedStatement {
  return parseStatement(parseEnvelope(fromBase64(line.envelope)).payload)
}

export function receivedOf(line: TestLine) {
  const { ledger, kind, predicate } = statementOf(line)
  const { record = null, version = null } = predicate
  const recordVersion = ENTRY_KINDS[kind].movesRecord ? version : null
  return { ledger, seq: line.seq, leaf: line.leaf, kind, record, version: recordVersion }
}

/**
 * Changes of an entry that receives another ledger's entry. `envelope`: the envelope that is stored beside the entry;
 * undefined if there is none.
 */
type Receiving = { received?: object; predicate?: object; envelope?: string | undefined; by?: string }

/**
 * Makes two ledgers that are peers. `of`: existing chains to use, which may be peers already or may have been. `apart`:
 * true if they do not become peers yet.
 */
export function makePeers(options: { apart?: boolean; of?: { home?: TestChain; guest?: TestChain } } = {}) {
  const { home = makeChain(), guest = makeChain() } = options.of ?? {}
  const peer = makeId('peer')
  const terms = { tokenHash: 'ef'.repeat(32), inviter: identityOf(home), invited: identityOf(guest) }
  const about = (changed: object = terms): Subject => ({ name: peer, sha256: digestOf({ peer, ...changed }) })
  const beside = (line: TestLine, changes: object) =>
    'envelope' in changes ? (changes.envelope as string | undefined) : line.envelope

  const peers = {
    home,
    guest,
    peer,
    terms,
    about,

    /** Appends an entry. `side`: the ledger that gets the entry. */
    add: (side: TestChain, predicate: object = {}, subject?: Subject) => {
      const members = { ...terms, ...predicate }
      const { tokenHash, inviter, invited } = members
      return side.append({
        kind: 'peer-added',
        subjects: [subject ?? about({ tokenHash, inviter, invited })],
        predicate: { ...side.system(), ...members },
      })
    },

    change: (side: TestChain, kind: EntryKind, subject: Subject = about()) =>
      side.append({ kind, subjects: [subject], predicate: { ...side.acting(), code: 'test' } }),

    receive: (side: TestChain, line: TestLine, changes: Receiving = {}) => {
      const received = { ...receivedOf(line), ...changes.received }
      return side.append({
        kind: 'entry-received',
        subjects: [{ name: `${received.ledger}/${received.seq}`, sha256: received.leaf }],
        predicate: { ...side.system(), peer: changes.by ?? peer, received, ...changes.predicate },
        received: beside(line, changes),
      })
    },

    rotate: (side: TestChain, line: TestLine, changes: Receiving & { subject?: Subject } = {}) =>
      side.append({
        kind: 'peer-key-rotated',
        subjects: [changes.subject ?? about()],
        predicate: {
          ...side.system(),
          newKey: statementOf(line).predicate['newKey'],
          received: { ...receivedOf(line), ...changes.received },
          ...changes.predicate,
        },
        received: beside(line, changes),
      }),

    /** Appends the offer of the guest agent's next step of the record. */
    offer: (
      gated: Gated,
      step: 'record-activated' | 'completion-submitted',
      predicate: object = {},
      subject: Subject = gated.about,
    ) => {
      const evidence = step === 'completion-submitted' ? [saltDocument(makeId('cmp'), { quantity: 100 })] : []
      return guest.append({
        kind: 'step-offered',
        subjects: [subject, ...evidence.map(({ subject: name, digest }) => ({ name, sha256: digest }))],
        predicate: {
          ...guest.acting(),
          peer,
          record: gated.record,
          step,
          version: gated.version() + 1,
          previous: gated.last().leaf,
          ...(evidence[0] && { completion: evidence[0].subject }),
          ...predicate,
        },
        documents: evidence,
      })
    },

    /** Appends the home's own entry for the offered step. */
    take: (gated: Gated, offer: TestLine, changes: object = {}) => {
      const { ledger, predicate, actor, onBehalfOf } = statementOf(offer)
      const step = {
        ...home.system(),
        actor: `${ledger}/${onBehalfOf ?? actor}`,
        key: undefined,
        offer: { peer, ledger, seq: offer.seq, leaf: offer.leaf },
        received: offer.envelope,
        ...changes,
      }
      const [evidence] = offer.documents
      if (evidence) return gated.submit({ completion: predicate['completion'], ...step }, { ...evidence })
      return gated.activate(step)
    },

    refuse: (offer: TestLine, changes: Receiving = {}, side = home) => {
      const received = { ...receivedOf(offer), ...changes.received }
      return side.append({
        kind: 'offer-refused',
        subjects: [{ name: `${received.ledger}/${received.seq}`, sha256: received.leaf }],
        predicate: {
          ...side.system(),
          peer: changes.by ?? peer,
          record: received.record,
          code: 'transition_refused',
          received,
          ...changes.predicate,
        },
        received: beside(offer, changes),
      })
    },

    create: (changes: object = {}): Gated => {
      const share = [{ peer, documents: 'whole' }]
      return makeGated(home, { performer: `${guest.ledger}/${guest.agent}`, share, ...changes })
    },

    share: (gated: Pick<Gated, 'about' | 'record'>, predicate: object = {}) =>
      home.append({
        kind: 'record-shared',
        subjects: [gated.about],
        predicate: {
          ...home.acting(),
          record: gated.record,
          share: [{ peer, documents: 'digests' }],
          ...predicate,
        },
      }),
  }
  if (!options.apart) peers.receive(home, peers.add(guest, { counterpart: peers.add(home).leaf }))
  return peers
}

export function identityOf(chain: TestChain) {
  return {
    ledger: chain.ledger,
    url: chain.issuer,
    origin: chain.origin,
    genesis: chain.lines[0]!.leaf,
    envelopeKey: namedKey(chain.signers.at(-1)!),
  }
}

export function namedKey({ kidHex, key }: ReturnType<typeof makeSigner>) {
  return { kid: kidHex, alg: 'EdDSA', spki: toBase64(key.spki) }
}
