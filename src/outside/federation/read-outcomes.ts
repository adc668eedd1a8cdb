import type { Db } from '../../db/connect/client.ts'
import { type DrainedPeer, findSeqOfVersion, type SentResults } from '../../db/peers/peer-leases.ts'
import type { SharedEntry } from '../../db/peers/shared-entries.ts'
import { Slice } from '../../load/slice.ts'
import { formatId } from '../../proof/ids.ts'
import type { JsonObject, JsonValue } from '../../proof/json/json-value.ts'
import { isObject } from '../../proof/statement/fields.ts'
import { isCode, isVersion } from './answer-fields.ts'
import type { Outgoing } from './outbox.ts'
import { unexpectedAnswer } from './post.ts'
import { readReceipt } from './receipts.ts'

type OutcomesRead = {
  readonly receipts: SentResults['receipts'][number][]
  readonly dead: SentResults['dead'][number][]
  /** Maps a record's UUID to the backlog of entries that the peer lacks. */
  readonly missing: Map<string, SentResults['backlog'][number]>
  /** UUIDs of records with an entry that the peer has not accepted. */
  readonly waiting: Set<string>
}

/**
 * Reads the peer's outcome for each entry of a request. If the peer does not accept an entry, later entries of that
 * record wait, whatever their outcome is. Throws PeerError if any outcome in the answer is invalid.
 */
export async function readOutcomes(
  db: Db,
  peer: DrainedPeer,
  { entries, nextSeq, backlog }: Outgoing,
  answer: JsonObject,
): Promise<SentResults> {
  const outcomes = answer['outcomes']
  if (!Array.isArray(outcomes) || outcomes.length !== entries.length)
    throw unexpectedAnswer('the answer does not have one outcome for each entry')
  const read: OutcomesRead = { receipts: [], dead: [], missing: new Map(), waiting: new Set() }
  const slice = new Slice()
  for (const [i, entry] of entries.entries()) {
    // Lets the other peers of this process use the event loop in between.
    if (slice.isOver) await slice.next()
    const record = recordOf(entry)
    if (record !== null && read.waiting.has(record)) continue
    const isTaken = await readOutcome(db, peer, entries, entry, outcomes[i]!, read)
    if (!isTaken && record !== null) read.waiting.add(record)
  }
  return {
    receipts: read.receipts,
    dead: read.dead,
    backlog: backlogAfter(backlog, read),
    nextSeq,
    knownKid: peer.knownKid,
    answered: true,
  }
}

function recordOf({ recordId }: SharedEntry): string | null {
  return recordId
}

/** Reads one outcome. Returns true if the peer has received the entry. */
async function readOutcome(
  db: Db,
  peer: DrainedPeer,
  entries: readonly SharedEntry[],
  entry: SharedEntry,
  outcome: JsonValue,
  { receipts, dead, missing }: OutcomesRead,
): Promise<boolean> {
  const said = isObject(outcome) ? outcome : {}
  switch (said['outcome']) {
    case 'received':
      receipts.push({ seq: entry.seq, envelope: readReceipt(peer, entry, said['envelope']) })
      return true
    case 'refused':
      dead.push(deadLetter(entry, said))
      return false
    case 'missing': {
      const record = recordOf(entry)
      const first = entries.find((one) => recordOf(one) === record)!
      const fromSeq = await seqOfMissing(db, peer, first, said)
      missing.set(record!, { recordId: entry.recordId!, fromSeq, readSeq: null })
      return false
    }
    default:
      throw unexpectedAnswer(`the answer has an unknown outcome for entry ${entry.seq}`)
  }
}

function deadLetter(
  { seq, recordId, kind }: SharedEntry,
  { code, detail }: JsonObject,
): SentResults['dead'][number] {
  return {
    seq,
    recordId,
    kind,
    code: isCode(code) ? code : 'unexpected_answer',
    detail: typeof detail === 'string' ? detail.slice(0, 1_000) : '',
  }
}

/**
 * Returns the seq of the record's version that the peer reports as missing. `seq`: the record's first entry in the
 * request. Throws PeerError if the version does not exist, or if its entry does not precede `seq`.
 */
async function seqOfMissing(
  db: Db,
  { ledgerId }: DrainedPeer,
  { seq, recordId }: SharedEntry,
  { record, version }: JsonObject,
): Promise<number> {
  const isOfRecord = recordId !== null && record === formatId('rec', recordId)
  const found =
    isOfRecord && isVersion(version) ? await findSeqOfVersion(db, ledgerId, recordId, version) : null
  if (found === null || found >= seq)
    throw unexpectedAnswer(
      `the peer requests earlier entries of the record of entry ${seq}, but they do not exist`,
    )
  return found
}

/**
 * Returns the changes of the backlog after the answer. `sent`: the change that was planned with the request. Entries
 * that wait behind a dead letter are sent when the dead letter is replayed.
 */
function backlogAfter(sent: Outgoing['backlog'], { missing, waiting }: OutcomesRead): SentResults['backlog'] {
  if (sent === null) return [...missing.values()]
  const lacked = missing.get(sent.recordId)
  if (lacked) return [{ ...lacked, readSeq: sent.readSeq }]
  const isWaiting = waiting.has(sent.recordId)
  return [isWaiting ? { ...sent, fromSeq: null } : sent, ...missing.values()]
}
