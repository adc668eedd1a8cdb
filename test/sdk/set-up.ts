import type { AddressInfo } from 'node:net'
import { Tallystick } from '../../sdk/client.ts'
import type { TransportOptions } from '../../sdk/http/transport.ts'
import { TallystickOperator } from '../../sdk/operator.ts'
import type { AnyTypes, TypeMap } from '../../sdk/typed.ts'
import { buildTestApp, OPERATOR_KEY, type Test, type TestApp } from '../helpers/app.ts'
import { QUICK_RETRIES } from './quick-retries.ts'

export type SdkTest = {
  readonly app: TestApp
  readonly baseUrl: string
  /** With the first ledger's key, which may do everything. */
  client<Types extends TypeMap = AnyTypes>(options?: Partial<TransportOptions>): Tallystick<Types>
  operator(options?: Partial<TransportOptions>): TallystickOperator
}

/** The application, listening, and clients of it that lose no time. */
export async function setUpSdk(t: Test): Promise<SdkTest> {
  const app = await buildTestApp(t)
  await app.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.app.server.address() as AddressInfo
  const baseUrl = `http://127.0.0.1:${port}`
  const common = { baseUrl, timeoutMs: 5_000, retries: QUICK_RETRIES }
  return {
    app,
    baseUrl,
    client: (options) => new Tallystick({ apiKey: app.ledger.key.key, ...common, ...options }),
    operator: (options) => new TallystickOperator({ operatorKey: OPERATOR_KEY, ...common, ...options }),
  }
}
