import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { formatReport } from '../../src/verify/report.ts'
import { server } from '../../src/verify/server.ts'
import { SourceError } from '../../src/verify/source.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { buildTestApp, expectStatus, genericBody } from '../helpers/app.ts'

test('verifies what a running server exports of the key’s own ledger', async (t) => {
  const app = await buildTestApp(t)
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`
  const verify = (apiKey: string) => verifyLedger(server({ url, apiKey }))
  await app.notarize({ ...genericBody(), occurredAt: '2026-01-02T03:04:05.678Z' })
  const body = { records: [genericBody({ n: 1 }), genericBody({ n: 2.5, text: '\u00fc\u2028"' })] }
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body }))
  const whole = await verify(app.ledger.key.key)
  assert.equal(
    formatReport(whole),
    'INTEGRITY_OK entries=5 records=3 keys=self-asserted checkpoint=none covered=0 of 5',
  )

  const auditor = await app.newLedger({ scopes: ['audit:read', 'records:write'] })
  await app.notarize(genericBody(), { key: auditor.key.key })
  const audited = await verify(auditor.key.key)
  assert.match(formatReport(audited), /^INTEGRITY_OK entries=4 records=1 .* documents=withheld$/)

  const writer = await app.newLedger({ scopes: ['records:write'] })
  await assert.rejects(
    verify(writer.key.key),
    (error) => error instanceof SourceError && error.kind === 'denied',
  )
  await assert.rejects(verify('tly_nobody'), /refuses the API key/)
})
