import type { Peer, PeerDeadLetter, PeerFork, SharedRecord } from '../../sdk/generated/api.ts'
import { parseCount } from '../arguments.ts'
import type { Command, ValuesOf } from '../command.ts'
import type { Column } from '../output.ts'
import { listItems, showItem } from '../resource.ts'
import { UsageError } from '../run.ts'

export const peersList = listItems({
  usage: 'peers list',
  flags: '[--limit N]',
  about: `Lists the ledgers of other servers that this one shares records with, in the order of invitation: the state of each, how
many entries it is behind, its failures in a row, the entries that it refused for good, and its entries that contradict
earlier ones. Needs a key with the scope peers:manage, records:read or audit:read.`,
  examples: ['peers list', `peers list | jq -r 'select(.drain.deadLetters > 0 or .drain.forks > 0) | .id'`],
  columns: [
    ['ID', ({ id }) => id],
    ['STATE', ({ state }) => state],
    ['BEHIND', ({ drain }) => drain?.behind ?? null],
    ['FAILURES', ({ drain }) => drain?.failures ?? null],
    ['DEAD', ({ drain }) => drain?.deadLetters ?? null],
    ['FORKS', ({ drain }) => drain?.forks ?? null],
    ['NAME', ({ name }) => name],
    ['URL', ({ remote }) => remote?.url ?? null],
  ] satisfies readonly Column<Peer>[],
  request: (client) => client.peers.list(),
})

export const peersGet = showItem({
  usage: 'peers get PEER',
  about: `Shows a peer: who it is, and in \`drain\` how far entries were sent to it and how it answers. Needs a key with the scope
peers:manage, records:read or audit:read.`,
  examples: [
    'peers get peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'peers get peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .state',
  ],
  request: (client, id) => client.peers.get(id),
})

export const peersRecords = listItems({
  usage: 'peers records PEER',
  flags: '[--limit N]',
  about: `Lists the records that are shared with a peer: those of this ledger (home), and those of the peer (guest) as far as its
entries have arrived. Needs a key with the scope records:read.`,
  examples: [
    'peers records peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    `peers records peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r 'select(.offer.state == "pending") | .id'`,
  ],
  columns: [
    ['ID', ({ id }) => id],
    ['ROLE', ({ role }) => role],
    ['TYPE', ({ type }) => type],
    ['STATE', ({ state }) => state],
    ['VERSION', ({ version }) => version],
    ['DOCUMENTS', ({ documents }) => documents],
    ['OFFER', ({ offer }) => offer?.state ?? null],
  ] satisfies readonly Column<SharedRecord>[],
  request: (client, id) => client.peers.records(id),
})

export const peersDeadLetters = listItems({
  usage: 'peers dead-letters PEER',
  flags: '[--limit N]',
  about: `Lists entries that a peer refused for good, oldest first, each with the peer's reason and the entry itself. Later
entries of those records wait. When the cause is solved: \`tallystick peers replay\`. Needs a key with the scope
peers:manage.`,
  examples: [
    'peers dead-letters peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'peers dead-letters peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .code | sort | uniq -c',
  ],
  columns: [
    ['SEQ', ({ seq }) => seq],
    ['RECORD', ({ record }) => record],
    ['CODE', ({ code }) => code],
    ['DIED', ({ diedAt }) => diedAt],
    ['DETAIL', ({ detail }) => detail],
  ] satisfies readonly Column<PeerDeadLetter>[],
  request: (client, id) => client.peers.deadLetters(id),
})

export const peersForks = listItems({
  usage: 'peers forks PEER',
  flags: '[--limit N]',
  about: `Lists entries that a peer signed and that contradict what it sent before. They were refused, and are stored as
evidence: their envelopes prove that the peer signed both. Needs a key with the scope peers:manage or audit:read.`,
  examples: [
    'peers forks peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'peers forks peer_01kd2m3n4p5q6r7s8t9v0w1x2y | jq -r .record',
  ],
  columns: [
    ['SEQ', ({ seq }) => seq],
    ['RECORD', ({ record }) => record],
    ['VERSION', ({ version }) => version],
    ['LEAF', ({ leaf }) => leaf],
    ['SEEN', ({ seenAt }) => seenAt],
  ] satisfies readonly Column<PeerFork>[],
  request: (client, id) => client.peers.forks(id),
})

export const peersSuspend = peerChange({
  name: 'suspend',
  does:
    'Suspends a peering: until it is resumed nothing is sent to the peer, and what it sends is refused.\n' +
    'Entries for the peer wait.',
  codeExample: 'maintenance',
})

export const peersResume = peerChange({
  name: 'resume',
  does: 'Resumes a suspended peering.',
  codeExample: 'maintenance_over',
})

export const peersRevoke = peerChange({
  name: 'revoke',
  does:
    'Ends a peering for good: the peer is notified, and entries that wait for it are dropped. Both sides\n' +
    'still have what was shared.',
  codeExample: 'contract_ended',
  isFinal: true,
})

const BUDGET = {
  entries: { type: 'string' },
  bytes: { type: 'string' },
  default: { type: 'boolean' },
} as const

export const peersBudget = showItem({
  usage: 'peers budget PEER',
  flags: `--entries N --bytes N
tallystick peers budget PEER --default`,
  about: `Limits how much a peer may store here in 24 hours. Beyond that the peer is asked to try again later. Needs a key with
the scope peers:manage. \`tallystick peers get\` shows how much is used.`,
  options: BUDGET,
  optionsHelp: `  --entries N      entries of the peer, each with the entry that receives it
  --bytes N        bytes of these entries, and of documents, types and forks
  --default        the budget that every peer has by default`,
  examples: [
    'peers budget peer_01kd2m3n4p5q6r7s8t9v0w1x2y --entries 100000 --bytes 1000000000',
    'peers budget peer_01kd2m3n4p5q6r7s8t9v0w1x2y --default',
  ],
  parse: parseBudget,
  request: (client, id, budget) => client.peers.setBudget(id, budget),
})

/**
 * Parses the budget. Returns null for `--default`. Throws UsageError if only one of the two numbers is given, because a
 * default for the other number would be a guess.
 */
function parseBudget({ entries, bytes, default: isDefault }: ValuesOf<typeof BUDGET>) {
  if (isDefault && entries === undefined && bytes === undefined) return null
  const entriesPerDay = parseCount(entries, '--entries')
  const bytesPerDay = parseCount(bytes, '--bytes')
  if (isDefault || entriesPerDay === undefined || bytesPerDay === undefined)
    throw new UsageError('peers budget needs both --entries N and --bytes N, or only --default')
  return { entriesPerDay, bytesPerDay }
}

export const peersReplay = showItem({
  usage: 'peers replay PEER [--seq N]…',
  about: `Sends again the entries that a peer refused for good, and those that wait behind them, and prints how many. Solve the
cause first: otherwise they are refused again. Needs a key with the scope peers:manage.`,
  options: { seq: { type: 'string', multiple: true } },
  optionsHelp: `  --seq N          only the entry with this seq, of \`tallystick peers dead-letters\`. Repeatable`,
  examples: [
    'peers replay peer_01kd2m3n4p5q6r7s8t9v0w1x2y',
    'peers replay peer_01kd2m3n4p5q6r7s8t9v0w1x2y --seq 41 --seq 57',
  ],
  parse: ({ seq }) => ({ seqs: seq?.map((each) => parseCount(each, '--seq', { min: 0 })!) }),
  request: async (client, id, request) => ({ replayed: await client.peers.replay(id, request) }),
})

type Change = {
  readonly name: 'suspend' | 'resume' | 'revoke'
  readonly does: string
  readonly codeExample: string
  readonly isFinal?: boolean
}

/** Makes a command that changes a peering's state. The change is an entry of the chain. */
function peerChange({ name, does, codeExample, isFinal = false }: Change): Command {
  const yes = isFinal ? ' --yes' : ''
  return showItem({
    usage: `peers ${name} PEER${yes}`,
    flags: '[--code CODE]',
    about: `${does} Needs a key with the scope peers:manage.`,
    options: { code: { type: 'string' }, ...(isFinal && { yes: { type: 'boolean' } }) } as {
      code: { type: 'string' }
      yes?: { type: 'boolean' }
    },
    optionsHelp: `  --code CODE      the reason, as a word for programs: signed. Default: requested${
      isFinal ? "\n  --yes            needed, because it can't be undone" : ''
    }`,
    examples: [`peers ${name} peer_01kd2m3n4p5q6r7s8t9v0w1x2y --code ${codeExample}${yes}`],
    parse: (values, id) => {
      if (isFinal && !(values as { yes?: boolean }).yes)
        throw new UsageError(`${name} ${id} can't be undone: add --yes`)
      return { code: values.code }
    },
    request: (client, id, request) => client.peers[name](id, request),
  })
}
