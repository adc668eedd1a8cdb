import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../src/db/connect/client.ts'
import { migrate } from '../../src/db/schema/migrate.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { startTestPostgres } from '../helpers/database.ts'

test('migrate grants rds_iam to both logins, or names the grant for the master user', async (t) => {
  const { ownerUrl, superuserUrl } = await startTestPostgres(t)
  const run = (sql: string) => withClient(superuserUrl, (client) => client.query(sql))
  const masterKey = makeMasterKey(new Uint8Array(32).fill(2))
  const passwords = { api: null, worker: null }
  const migrateNow = () => migrate({ ownerUrl, masterKey, passwords, byRdsIam: true })

  await assert.rejects(migrateNow(), /needs the role rds_iam, which only a Postgres of RDS has/)
  await run('create role rds_iam')
  await assert.rejects(migrateNow(), /let the master user of RDS run `grant rds_iam to tallystick_api`/)
  await run('grant rds_iam to tallystick_owner with admin option')
  await migrateNow()
  const { rows } = await run(
    `select m.rolname as login from pg_auth_members a join pg_roles m on m.oid = a.member join pg_roles r on r.oid = a.roleid
     where r.rolname = 'rds_iam' order by 1`,
  )
  assert.deepEqual(
    rows.map(({ login }) => login),
    ['tallystick_api', 'tallystick_owner', 'tallystick_worker'],
  )
  // The logins already have the role `rds_iam`, so `migrate` works although the owner cannot grant it.
  await run('revoke rds_iam from tallystick_owner cascade')
  await run('grant rds_iam to tallystick_api, tallystick_worker')
  assert.deepEqual(await migrateNow(), [])
})
