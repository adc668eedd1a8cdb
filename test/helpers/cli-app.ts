import { type AppOptions, buildTestApp, type Test, type TestApp } from './app.ts'
import { temporaryFiles } from './temporary-files.ts'

type Files = ReturnType<typeof temporaryFiles>

/** The application on a port, and this process's environment as that of somebody who uses it with the first ledger's key. */
export async function listen(
  t: Test & { after(cleanup: () => void): void },
  app: Pick<TestApp, 'app' | 'ledger'>,
): Promise<{ url: string; files: Files; env: Record<string, string> }> {
  const url = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const files = temporaryFiles(t)
  const env = {
    TALLYSTICK_URL: url,
    TALLYSTICK_API_KEY: app.ledger.key.key,
    XDG_CONFIG_HOME: files.directory,
  }
  Object.assign(process.env, env)
  return { url, files, env }
}

export async function buildCliApp(t: Test & { after(cleanup: () => void): void }, options?: AppOptions) {
  const app = await buildTestApp(t, options)
  return { ...app, ...(await listen(t, app)) }
}
