"""
Equal instances, and the copies of models that share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.fit.packing import Packing, most_copies, pack
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """
    Instances of one type, and what copies of each model on them reserve.

    ``Fleet(instance_type=p4d, instances=2).with_model("Llama", needs).pack()``

    Args:
        instance_type: The type of all instances.

        instances: How many there are; a number that is known at synth.

        models:
            What a copy of each model reserves, and how many copies there are.
            If left out, none runs yet.
            A model with a number that is not known at synth takes no place: nothing
            is guessed.
    """

    instance_type: InstanceType
    instances: int
    models: Mapping[str, ResourceRequirements] = field(default_factory=dict)

    @property
    def capacity(self) -> Capacity:
        """
        What each instance has, by the nameplate.
        """
        return Capacity.of(self.instance_type)

    @property
    def accelerators(self) -> int:
        """
        The accelerators of all instances.
        """
        return self.instance_type.accelerators * self.instances

    @property
    def accelerators_used(self) -> int:
        """
        The accelerators that all copies reserve, whether they have a place or not.
        """
        return sum(
            needs.copies * (needs.accelerators or 0) for needs in self._known().values()
        )

    def with_model(self, name: str, needs: ResourceRequirements) -> Fleet:
        """
        Return this fleet with a model beside the others.
        """
        return replace(self, models={**self.models, name: needs})

    def pack(self) -> Packing:
        """
        Place every copy, or say why not all can have a place.
        """
        return pack(self._known(), self.capacity, self.instances)

    def with_one_more(self, name: str) -> Packing:
        """
        Try to place one more copy of a model that is there.
        """
        needs = self.models[name]
        more = replace(needs, copies=needs.copies + 1)
        return self.with_model(name, more).pack()

    def most_copies(self, needs: ResourceRequirements) -> int:
        """
        Return how many copies of one more model can be placed beside the others.
        """
        return most_copies(needs, self.capacity, self.instances, beside=self._known())

    def alone(self, needs: ResourceRequirements) -> int:
        """
        Return how many copies of a model there could be if no other ran.
        """
        return self.capacity.copies_of(needs) * self.instances

    def _known(self) -> dict[str, ResourceRequirements]:
        return {name: needs for name, needs in self.models.items() if needs.is_known}
