import { randomBytes } from 'node:crypto'
import type { PeerState } from '../../src/db/peers/peers.ts'
import type { Identity } from '../../src/outside/federation/identity.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import type { TestApp } from './app.ts'

/* Peerings for tests of sharing. They consist only of rows, without a handshake. */

export type TestPeer = {
  readonly peer: string
  readonly peerId: Uuid
  /** Id of the other ledger (`led_…`). `agent` is the id of one of its agents, `led_…/agt_…`. */
  readonly ledger: string
  readonly agent: string
}

/** Adds a peering to a ledger. Default: the application's first ledger. */
export async function addPeer(
  app: TestApp,
  state: PeerState = 'active',
  ledger: string = app.ledger.ledger.id,
): Promise<TestPeer> {
  const [peerId, remoteId, agentId] = [0, 1, 2].map(() => app.deps.entropy.uuidv7(Date.now()))
  const remote = formatId('led', remoteId!)
  const isKnown = state !== 'invited'
  await app.sql(
    `insert into tallystick.peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter, invited,
       remote_ledger_id, remote_url, handshake, added_seq, added_leaf, revoked_seq)
     values ($1, $2, $3, 'inviter', $4, $5, $6, now() + interval '1 day', '{}', $7, $8, $9, $6, $10, $6, $11)`,
    [
      parseId('led', ledger),
      peerId!,
      `peer ${remote}`,
      state,
      parseId('agt', app.ledger.agent.id),
      randomBytes(32),
      isKnown ? JSON.stringify(identityOf(remote)) : null,
      isKnown ? remoteId! : null,
      isKnown ? OTHER_URL : null,
      isKnown ? 3 : null,
      state === 'revoked' ? 4 : null,
    ],
  )
  const peer = formatId('peer', peerId!)
  return { peer, peerId: peerId!, ledger: remote, agent: `${remote}/${formatId('agt', agentId!)}` }
}

const OTHER_URL = 'https://other.example'

function identityOf(ledger: string): Identity {
  const envelopeKey = { kid: '0'.repeat(64), alg: 'EdDSA', spki: 'AAAA' } as const
  return { ledger, url: OTHER_URL, origin: `other.example/${ledger}`, genesis: '0'.repeat(64), envelopeKey }
}

export async function setPeerState(app: TestApp, { peerId }: TestPeer, state: PeerState): Promise<void> {
  await app.sql('update tallystick.peers set state = $1 where peer_id = $2', [state, peerId])
}
