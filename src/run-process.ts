/** Something that runs until it is closed. */
export type Service = { close(): Promise<void> }

/** Beyond this a shutdown is given up: longer than any request may take, shorter than a pod's grace period. */
const CLOSE_MS_MAX = 25_000

/**
 * Runs a service as a process: until SIGTERM or SIGINT, then closes it and exits with 0. What can't start says
 * why in one line and exits with 1.
 */
export async function runProcess(name: string, start: () => Promise<Service>): Promise<void> {
  let service: Service
  try {
    service = await start()
  } catch (error) {
    console.error(`tallystick ${name}: ${(error as Error).message}`)
    process.exit(1)
  }
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    // Not `once`: under npm a Ctrl-C arrives twice, and the second would end the process while it drains.
    process.on('SIGTERM', resolve)
    process.on('SIGINT', resolve)
  })
  const givenUp = setTimeout(() => {
    console.error(`tallystick ${name}: not closed ${CLOSE_MS_MAX} ms after ${signal}; giving up`)
    process.exit(1)
  }, CLOSE_MS_MAX)
  await service.close()
  clearTimeout(givenUp)
  process.exit(0)
}
