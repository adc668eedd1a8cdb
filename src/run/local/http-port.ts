import { createServer } from 'node:net'

const PROBE_MS_MAX = 1_000

/**
 * Throws an error with a remedy if the port is not free. Call this function before anything else is started, so that
 * nothing has to be undone.
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const code = await bindError(host, port)
  if (code === null) return
  const other = `choose another with TALLYSTICK_PORT=${port < 65_535 ? port + 1 : port - 1}`
  if (code === 'EADDRINUSE') {
    throw new Error(
      `port ${port} on ${host} is in use (${await whoAnswers(host, port)}): stop that, or ${other}`,
    )
  }
  if (code === 'EACCES') throw new Error(`this user may not listen on port ${port}: ${other}`)
  throw new Error(`cannot listen on ${host}:${port} (${code}): check TALLYSTICK_HOST and TALLYSTICK_PORT`)
}

function bindError(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

async function whoAnswers(host: string, port: number): Promise<string> {
  try {
    const response = await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`, {
      signal: AbortSignal.timeout(PROBE_MS_MAX),
      redirect: 'error',
    })
    const body = (await response.json()) as { status?: unknown; version?: unknown }
    if (body.status === 'ok') return `a Tallystick ${String(body.version).slice(0, 20)} answers there`
  } catch {
    // Another program answered on the port, not Tallystick.
  }
  return 'another program listens there'
}
