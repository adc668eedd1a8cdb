import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { formatInvitation, parseInvitation } from '../../../src/outside/federation/invitation.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { canonicalize } from '../../../src/proof/json/jcs.ts'
import { startOrganisations } from '../../helpers/federation.ts'
import { makeId } from '../../helpers/test-chain.ts'
import { Mallory } from '../federation/mallory.ts'
import { refused } from '../federation/unchanged.ts'

/* Finding M1: a thief who could write a row became a peer, and the server signed everything that followed. */

test('an invitation that was written into the database is refused with token_invalid', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const mallory = await Mallory.open(t, victim!)
  const genuine = parseInvitation(await mallory.invite())!
  const [row] = await victim!.sql<{ name: string; tokenHash: Buffer }>(
    'select name, token_hash from tallystick.peers',
  )

  /** Inserts a peering as the database's owner, who may write anything. */
  const insert = async (tokenHash: Uint8Array): Promise<string> => {
    const peer = makeId('peer')
    await victim!.sql(
      `insert into tallystick.peers (ledger_id, peer_id, name, role, state, created_by, token_hash, expires_at, inviter)
       select ledger_id, $1, 'nobody', 'inviter', 'invited', created_by, $2, now() + interval '1 day', inviter
       from tallystick.peers where name = $3`,
      [parseId('peer', peer), tokenHash, row!.name],
    )
    return peer
  }
  const introduce = (peer: string, token: string) => () =>
    mallory.introduce(formatInvitation({ ...genuine, peer, token }))

  await t.test('with a token of the thief’s own', async () => {
    const token = randomBytes(32)
    const peer = await insert(hash('sha256', token, 'buffer'))
    await refused(victim!, introduce(peer, token.toString('base64url')), 401, 'token_invalid')
  })
  await t.test('with the token hash of a genuine invitation', async () => {
    const peer = await insert(row!.tokenHash)
    await refused(victim!, introduce(peer, genuine.token), 401, 'token_invalid')
  })
  await t.test(
    'a genuine invitation is refused while its row is changed, and accepted unchanged',
    async () => {
      for (const [change, back] of [
        [`expires_at = expires_at + interval '1 hour'`, `expires_at = expires_at - interval '1 hour'`],
        [
          `inviter = replace(inviter, '"url":"', '"url":"x')`,
          `inviter = replace(inviter, '"url":"x', '"url":"')`,
        ],
      ]) {
        const update = `update tallystick.peers set ${change} where name = $1`
        await victim!.sql(update, [row!.name])
        await refused(victim!, introduce(genuine.peer, genuine.token), 401, 'token_invalid')
        await victim!.sql(`update tallystick.peers set ${back} where name = $1`, [row!.name])
      }
      const [{ inviter }] = (await victim!.sql<{ inviter: string }>(
        'select inviter from tallystick.peers where name = $1',
        [row!.name],
      )) as [{ inviter: string }]
      assert.equal(inviter, canonicalize(genuine.inviter))
      await mallory.join(formatInvitation(genuine))
      await mallory.greet()
    },
  )
})
