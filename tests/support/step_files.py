"""A writer of STEP files: boxes as boundary representations, and assemblies that place them."""

from __future__ import annotations

from typing import Any

HEADER = """ISO-10303-21;
HEADER;
FILE_DESCRIPTION((''),'2;1');
FILE_NAME('','2026-01-01T00:00:00',(''),(''),'','','');
FILE_SCHEMA(('AUTOMOTIVE_DESIGN { 1 0 10303 214 1 1 1 1 }'));
ENDSEC;
DATA;
"""


class Step:
    """A STEP file (AP214) in millimetres that is built entity by entity; each method returns the number of one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        application = self.add("APPLICATION_CONTEXT('design')")
        self.add(f"APPLICATION_PROTOCOL_DEFINITION('','automotive_design',2000,#{application})")
        self.product_context = self.add(f"PRODUCT_CONTEXT('',#{application},'mechanical')")
        self.definition_context = self.add(f"PRODUCT_DEFINITION_CONTEXT('part definition',#{application},'design')")
        length = self.add("(LENGTH_UNIT()NAMED_UNIT(*)SI_UNIT(.MILLI.,.METRE.))")
        angle = self.add("(NAMED_UNIT(*)PLANE_ANGLE_UNIT()SI_UNIT($,.RADIAN.))")
        solid = self.add("(NAMED_UNIT(*)SI_UNIT($,.STERADIAN.)SOLID_ANGLE_UNIT())")
        accuracy = self.add(f"UNCERTAINTY_MEASURE_WITH_UNIT(LENGTH_MEASURE(1.E-07),#{length},'','')")
        self.context = self.add(
            f"(GEOMETRIC_REPRESENTATION_CONTEXT(3)GLOBAL_UNCERTAINTY_ASSIGNED_CONTEXT((#{accuracy}))"
            f"GLOBAL_UNIT_ASSIGNED_CONTEXT((#{length},#{angle},#{solid}))REPRESENTATION_CONTEXT('',''))"
        )

    def add(self, text: str) -> int:
        self.lines.append(f"#{len(self.lines) + 1}={text};")
        return len(self.lines)

    def name(self, text: str) -> str:
        return f"#{self.add(text)}"

    def point(self, place: Any) -> int:
        return self.add(f"CARTESIAN_POINT('',({','.join(str(float(one)) for one in place)}))")

    def direction(self, vector: Any) -> int:
        return self.add(f"DIRECTION('',({','.join(str(float(one)) for one in vector)}))")

    def axes(self, place: Any, z: Any = (0, 0, 1), x: Any = (1, 0, 0)) -> int:
        point, up, right = self.point(place), self.direction(z), self.direction(x)
        return self.add(f"AXIS2_PLACEMENT_3D('',#{point},#{up},#{right})")

    def _product(self, name: str, items: list[int], kind: str) -> tuple[int, int]:
        """Add a product; returns its definition and its shape."""
        product = self.add(f"PRODUCT('{name}','{name}','',(#{self.product_context}))")
        self.add(f"PRODUCT_RELATED_PRODUCT_CATEGORY('part',$,(#{product}))")
        version = self.add(f"PRODUCT_DEFINITION_FORMATION('','',#{product})")
        definition = self.add(f"PRODUCT_DEFINITION('design','',#{version},#{self.definition_context})")
        has_shape = self.add(f"PRODUCT_DEFINITION_SHAPE('','',#{definition})")
        listed = ",".join(f"#{one}" for one in items)
        shape = self.add(f"{kind}('{name}',({listed}),#{self.context})")
        self.add(f"SHAPE_DEFINITION_REPRESENTATION(#{has_shape},#{shape})")
        return definition, shape

    def box(self, name: str, size: Any) -> tuple[int, int]:
        """Add a product that is a box from the origin."""
        corners = [[x * size[0], y * size[1], z * size[2]] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        vertices = [self.add(f"VERTEX_POINT('',#{self.point(corner)})") for corner in corners]
        edges: dict[tuple[int, int], int] = {}

        def edge(one: int, two: int) -> str:
            if (two, one) in edges:
                return self.name(f"ORIENTED_EDGE('',*,*,#{edges[two, one]},.F.)")
            along = [b - a for a, b in zip(corners[one], corners[two], strict=True)]
            vector = self.add(f"VECTOR('',#{self.direction(along)},1.)")
            line = self.add(f"LINE('',#{self.point(corners[one])},#{vector})")
            edges[one, two] = self.add(f"EDGE_CURVE('',#{vertices[one]},#{vertices[two]},#{line},.T.)")
            return self.name(f"ORIENTED_EDGE('',*,*,#{edges[one, two]},.T.)")

        faces = []
        for loop, normal, along in (
            ((0, 3, 2, 1), (0, 0, -1), (1, 0, 0)), ((4, 5, 6, 7), (0, 0, 1), (1, 0, 0)),
            ((0, 1, 5, 4), (0, -1, 0), (1, 0, 0)), ((2, 3, 7, 6), (0, 1, 0), (1, 0, 0)),
            ((1, 2, 6, 5), (1, 0, 0), (0, 1, 0)), ((3, 0, 4, 7), (-1, 0, 0), (0, 1, 0)),
        ):  # fmt: skip
            sides = ",".join(edge(loop[k], loop[(k + 1) % 4]) for k in range(4))
            loop_of = f"EDGE_LOOP('',({sides}))"
            bound = self.name(f"FACE_OUTER_BOUND('',{self.name(loop_of)},.T.)")
            plane = self.name(f"PLANE('',#{self.axes(corners[loop[0]], normal, along)})")
            faces.append(self.name(f"ADVANCED_FACE('',({bound}),{plane},.T.)"))
        shell = self.add(f"CLOSED_SHELL('',({','.join(faces)}))")
        solid = self.add(f"MANIFOLD_SOLID_BREP('{name}',#{shell})")
        return self._product(name, [self.axes((0, 0, 0)), solid], "ADVANCED_BREP_SHAPE_REPRESENTATION")

    def assembly(self, name: str, uses: list[tuple[str, tuple[int, int], Any]]) -> tuple[int, int]:
        """Add a product of others: the name of each use, the product, and where it is."""
        origin = self.axes((0, 0, 0))
        places = [self.axes(place) for _, _, place in uses]
        definition, shape = self._product(name, [origin, *places], "SHAPE_REPRESENTATION")
        for (label, (inner, inner_shape), _), place in zip(uses, places, strict=True):
            use = self.add(f"NEXT_ASSEMBLY_USAGE_OCCURRENCE('{label}','{label}','',#{definition},#{inner},$)")
            has_shape = self.add(f"PRODUCT_DEFINITION_SHAPE('','',#{use})")
            change = self.add(f"ITEM_DEFINED_TRANSFORMATION('','',#{origin},#{place})")
            relation = self.add(
                f"(REPRESENTATION_RELATIONSHIP('','',#{inner_shape},#{shape})"
                f"REPRESENTATION_RELATIONSHIP_WITH_TRANSFORMATION(#{change})SHAPE_REPRESENTATION_RELATIONSHIP())"
            )
            self.add(f"CONTEXT_DEPENDENT_SHAPE_REPRESENTATION(#{relation},#{has_shape})")
        return definition, shape

    def text(self) -> str:
        return HEADER + "\n".join(self.lines) + "\nENDSEC;\nEND-ISO-10303-21;\n"
