import { parseArgs } from 'node:util'
import { parseConfig, required } from './config.ts'
import { withClient } from './db/client.ts'
import { startRotation } from './db/rotation.ts'
import { makeMasterKey } from './signing/master-key.ts'

const USAGE = `usage: npm run rotate-key -- [--compromised-at TIME] [--force]

  --compromised-at TIME  also say that the keys that sign now were in other hands since TIME (RFC 3339, UTC)
  --force                even though an earlier rotation is not finished`

/** `npm run rotate-key`: as the owner, makes a new envelope key, to which the worker moves every ledger. */
try {
  const { values } = parseArgs({
    options: { 'compromised-at': { type: 'string' }, force: { type: 'boolean' } },
  })
  const compromisedAt = parseTime(values['compromised-at'])
  const config = parseConfig(process.env)
  const ownerUrl = required(config.ownerUrl, 'DATABASE_URL', "the database, as its owner's login")
  const masterKey = makeMasterKey(
    required(config.masterKey, 'TALLYSTICK_MASTER_KEY', 'it seals the new signing key'),
  )
  const { oldKids, newKid } = await withClient(ownerUrl, (client) =>
    startRotation(client, masterKey, { compromisedAt, force: values.force ?? false }),
  )
  for (const kid of oldKids) console.log(`old key  ${hex(kid)}${compromisedAt ? '  compromised' : ''}`)
  console.log(`new key  ${hex(newKid)}`)
  console.log(
    'The worker now moves every ledger to the new key, and retires the old one when none is left: about two minutes, longer for\n' +
      'ledgers that are closed. Nothing needs a restart. Verifiers that trust a ledger’s first key follow by themselves.',
  )
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException
  console.error(`tallystick rotate-key: ${message}`)
  if (code?.startsWith('ERR_PARSE_ARGS')) console.error(USAGE)
  process.exitCode = 1
}

function parseTime(text: string | undefined): Date | null {
  if (text === undefined) return null
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(text) || Number.isNaN(time.getTime())) {
    throw new Error(`--compromised-at ${text} is no time such as 2026-11-20T12:00:00Z`)
  }
  if (time.getTime() > Date.now()) throw new Error(`--compromised-at ${text} is in the future`)
  return time
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
