export { TallystickTelemetry } from './telemetry.ts'
