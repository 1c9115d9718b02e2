// The picture of a 3D run, drawn by WebGL: drag to rotate, wheel to zoom. All pieces of one form are one draw call.

const VERTEX = `#version 300 es
in vec3 vertex, normal;
in vec3 column0, column1, column2, place, colour;
uniform mat4 camera;
out vec3 facing, shade;
void main() {
  mat3 matrix = mat3(column0, column1, column2);
  gl_Position = camera * vec4(place + matrix * vertex, 1.0);
  gl_PointSize = 4.0;
  // The inverse transpose, up to a factor, by cross products: it exists for flat pieces, too.
  facing = mat3(cross(column1, column2), cross(column2, column0), cross(column0, column1)) * normal;
  shade = colour;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 facing, shade;
uniform vec3 light;
out vec4 pixel;
void main() {
  float length_ = length(facing);
  float lit = length_ > 0.0 ? 0.55 + 0.45 * dot(facing / length_, light) : 1.0;
  pixel = vec4(shade * lit, 1.0);
}`;

const INSTANCE = 15;  // numbers per instance: three columns, position, colour

class Space {
  constructor(canvas, run) {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("3D runs need WebGL 2, which this browser does not provide.");
    this.canvas = canvas;
    this.run = run;
    this.gl = gl;
    [this.lower, this.upper] = run.extent();
    this.size = Math.hypot(...this.lower.map((low, axis) => this.upper[axis] - low)) || 1;
    this.middle = this.lower.map((low, axis) => (low + this.upper[axis]) / 2);
    this.turn = -1.0;
    this.tilt = 0.45;
    this.distance = 1.05;
    this.program = this.compile();
    this.meshes = run.forms.map((form, number) => this.upload(form, number));
    this.frameLines = this.uploadLines();
  }

  compile() {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  /** Upload a form, with room for an instance of each of its pieces. */
  upload(form, number) {
    const gl = this.gl, pieces = [];
    this.run.form.forEach((one, piece) => { if (one === number) pieces.push(piece); });
    const mode = form.name === "dot" ? gl.POINTS : form.name === "line" ? gl.LINES : gl.TRIANGLES;
    const corners = mode === gl.TRIANGLES ? this.cornersOf(form) : withoutNormals(form.vertices);
    return { pieces, mode, ...this.arrays(corners, pieces.length) };
  }

  arrays(corners, most) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const own = gl.createBuffer(), instances = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, own);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
    this.point("vertex", 3, 24, 0, 0);
    this.point("normal", 3, 24, 12, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    ["column0", "column1", "column2", "place", "colour"].forEach((name, k) => this.point(name, 3, 4 * INSTANCE, 12 * k, 1));
    return { array, instances, count: corners.length / 6, numbers: new Float32Array(INSTANCE * most) };
  }

  point(name, size, stride, offset, divisor) {
    const gl = this.gl, place = gl.getAttribLocation(this.program, name);
    if (place < 0) return;
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, gl.FLOAT, false, stride, offset);
    gl.vertexAttribDivisor(place, divisor);
  }

  /** Vertices of all triangles, each with its normal; balls and cylinders are shaded smoothly. */
  cornersOf(form) {
    const corners = [], at = (number) => form.vertices.slice(3 * number, 3 * number + 3);
    for (let face = 0; face < form.faces.length; face += 3) {
      const [a, b, c] = [0, 1, 2].map((k) => at(form.faces[face + k]));
      const flat = cross(minus(b, a), minus(c, a));
      for (const corner of [a, b, c]) {
        const round = form.name === "ball" ? corner : [corner[0], corner[1], 0];
        corners.push(...corner, ...(form.name === "ball" || form.name === "cylinder" ? round : flat));
      }
    }
    return corners;
  }

  /** The edges of the bounds. */
  uploadLines() {
    const ends = [];
    for (const [a, b] of [[0, 1], [0, 2], [1, 3], [2, 3], [4, 5], [4, 6], [5, 7], [6, 7], [0, 4], [1, 5], [2, 6], [3, 7]])
      for (const corner of [a, b]) ends.push(...[0, 1, 2].map((axis) => ((corner >> axis) & 1 ? this.upper : this.lower)[axis]));
    const lines = this.arrays(withoutNormals(ends), 1);
    lines.numbers.set([1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, ...rgb(COLOURS.bounds)]);
    return lines;
  }

  drag(dx, dy) {
    this.turn -= dx / 200;
    this.tilt = Math.min(1.5, Math.max(-1.5, this.tilt + dy / 200));
  }

  wheel(amount) { this.distance = Math.min(6, Math.max(0.02, this.distance * Math.exp(amount / 800))); }

  draw(frame) {
    const { gl, canvas, run } = this;
    run.setFrame(frame);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...rgb(COLOURS.ground), 1);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.program);
    const { matrix, ahead } = this.camera();
    gl.uniformMatrix4fv(gl.getUniformLocation(this.program, "camera"), false, matrix);
    gl.uniform3fv(gl.getUniformLocation(this.program, "light"), unit([-ahead[0], -ahead[1], 1.2 - ahead[2]]));
    this.show(this.frameLines, gl.LINES, 1);
    for (const mesh of this.meshes) this.show(mesh, mesh.mode, this.fill(mesh, frame));
  }

  show(mesh, mode, count) {
    if (!count) return;
    const gl = this.gl;
    gl.bindVertexArray(mesh.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.instances);
    gl.bufferData(gl.ARRAY_BUFFER, mesh.numbers.subarray(0, INSTANCE * count), gl.DYNAMIC_DRAW);
    gl.drawArraysInstanced(mode, 0, mesh.count, count);
  }

  /** Write the instances of a mesh in a frame; return how many there are. */
  fill(mesh, frame) {
    const run = this.run, out = mesh.numbers;
    let count = 0;
    for (const piece of mesh.pieces) {
      const track = run.track[piece];
      if (!run.isPresent(track, frame)) continue;
      const own = run.transforms.subarray(12 * piece, 12 * piece + 12), turn = run.rotations.subarray(9 * track, 9 * track + 9);
      const at = INSTANCE * count++, aligned = run.aligned[piece];
      for (let row = 0; row < 3; row++) {
        for (let column = 0; column < 3; column++) {
          let value = aligned ? own[3 + 3 * row + column] : 0;
          if (!aligned) for (let k = 0; k < 3; k++) value += turn[3 * row + k] * own[3 + 3 * k + column];
          out[at + 3 * column + row] = value;
        }
        out[at + 9 + row] = run.positions[3 * track + row]
          + turn[3 * row] * own[0] + turn[3 * row + 1] * own[1] + turn[3 * row + 2] * own[2];
      }
      out.set(RGB[run.styleOf(track, frame)], at + 12);
    }
    return count;
  }

  /** The matrix of a camera that orbits the middle; z is up. */
  camera() {
    const far = this.size * this.distance, flat = Math.cos(this.tilt);
    const ahead = [-flat * Math.cos(this.turn), -flat * Math.sin(this.turn), -Math.sin(this.tilt)];
    const right = unit(cross(ahead, [0, 0, 1])), up = cross(right, ahead);
    const eye = this.middle.map((middle, axis) => middle - far * ahead[axis]);
    const view = [right, up, ahead.map((value) => -value)];
    const focus = 1.7, aspect = this.canvas.width / this.canvas.height, near = 0.01 * far, end = far + 2 * this.size;
    const rows = [
      ...[focus / Math.max(aspect, 1e-3), focus].map((zoom, k) => [...view[k].map((value) => zoom * value), -zoom * dot(view[k], eye)]),
      [...view[2].map((value) => value * (end + near) / (near - end)), (-dot(view[2], eye) * (end + near) + 2 * end * near) / (near - end)],
      [...view[2].map((value) => -value), dot(view[2], eye)],
    ];
    const matrix = new Float32Array(16);
    rows.forEach((row, r) => row.forEach((value, c) => { matrix[4 * c + r] = value; }));
    return { matrix, ahead };
  }
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const minus = (a, b) => a.map((value, axis) => value - b[axis]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const length = Math.hypot(...a) || 1; return a.map((value) => value / length); };
const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
const RGB = Object.fromEntries(Object.entries(COLOURS).map(([name, colour]) => [name, rgb(colour)]));

function withoutNormals(vertices) {
  const corners = [];
  for (let at = 0; at < vertices.length; at += 3) corners.push(...vertices.slice(at, at + 3), 0, 0, 0);
  return corners;
}
