import { Tallystick } from '../../sdk/client.ts'
import type { TransportOptions } from '../../sdk/http/transport.ts'
import { TallystickOperator } from '../../sdk/operator.ts'
import type { AnyTypes, TypeMap } from '../../sdk/typed.ts'
import { buildTestApp, OPERATOR_KEY, type Test, type TestApp } from '../helpers/app.ts'
import { addressOf, sharedApp } from '../helpers/shared-app.ts'
import { QUICK_RETRIES } from './quick-retries.ts'

export type SdkTest = {
  readonly app: TestApp
  readonly baseUrl: string
  /** Makes a client with the first ledger's key, which has all scopes. */
  client<Types extends TypeMap = AnyTypes>(options?: Partial<TransportOptions>): Tallystick<Types>
  operator(options?: Partial<TransportOptions>): TallystickOperator
}

/** Makes a new ledger of the application that all tests of the process share, and clients with quick retries. */
export async function sharedSdk(): Promise<SdkTest> {
  const app = await sharedApp()
  return makeSdkTest(app, await addressOf(app))
}

/** Makes a new ledger like `sharedSdk`, but in a separate application. */
export async function setUpSdk(t: Test): Promise<SdkTest> {
  const app = await buildTestApp(t)
  return makeSdkTest(app, await app.app.listen({ port: 0, host: '127.0.0.1' }))
}

function makeSdkTest(app: TestApp, baseUrl: string): SdkTest {
  const common = { baseUrl, timeoutMs: 5_000, retries: QUICK_RETRIES }
  return {
    app,
    baseUrl,
    client: (options) => new Tallystick({ apiKey: app.ledger.key.key, ...common, ...options }),
    operator: (options) => new TallystickOperator({ operatorKey: OPERATOR_KEY, ...common, ...options }),
  }
}
